// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import TLSModel
import Vocabulary

/// Whether a certificate names a host: RFC 6125, with wildcards as whole left-most labels only.
package enum NameMatch {
    case matches
    /// The host is the common name, and there is no subject alternative name where one is required.
    case onlyCommonName
    case noNames
    case otherNames([String])

    /// Names of certificates are text from outside: they are compared by bytes, and only ASCII letters have a case there (RFC 4343).
    static func judge(_ leaf: CertificateFacts, host: String, mayUseCommonName: Bool) -> NameMatch {
        let wanted = normalized(host)
        let address = IPAddress(String(decoding: wanted, as: UTF8.self))
        if let names = leaf.alternativeNames, !(names.dnsNames.isEmpty && names.addresses.isEmpty) {
            if let address {
                if names.addresses.contains(address.bytes) { return .matches }
            } else if names.dnsNames.contains(where: { covers($0, wanted, isAddress: false) }) {
                return .matches
            }
            return .otherNames(names.dnsNames + names.addresses.compactMap { IPAddress(bytes: $0)?.description })
        }
        guard leaf.commonNames.contains(where: { covers($0, wanted, isAddress: address != nil) }) else {
            return leaf.commonNames.isEmpty || !mayUseCommonName ? .noNames : .otherNames(leaf.commonNames)
        }
        return mayUseCommonName ? .matches : .onlyCommonName
    }

    /// - Parameter host: normalized.
    private static func covers(_ pattern: String, _ host: [UInt8], isAddress: Bool) -> Bool {
        guard pattern.utf8.count <= longestName else { return false }
        let pattern = normalized(pattern)
        if pattern == host { return true }
        guard pattern.starts(with: "*.".utf8), !isAddress, let dot = host.firstIndex(of: 0x2E) else { return false }
        let suffix = pattern.dropFirst(2)
        // `*.com` covers nothing: a wildcard needs two labels behind it, and those of `*.co.uk` are one registry's.
        return suffix.contains(0x2E) && dot != host.startIndex && host[(dot + 1)...] == suffix
            && !SharedSuffixes.registries.contains(Array(suffix))
    }

    /// The suffix of a company whose customers all have names below it, if only a wildcard right below that suffix covers the host.
    package static func sharedWildcard(_ leaf: CertificateFacts, host: String) -> String? {
        let wanted = normalized(host)
        let covering = (leaf.alternativeNames?.dnsNames ?? []).filter { covers($0, wanted, isAddress: false) }
        let suffixes = covering.map { name -> [UInt8]? in
            let pattern = normalized(name)
            let suffix = Array(pattern.dropFirst(2))
            return pattern.starts(with: "*.".utf8) && SharedSuffixes.companies.contains(suffix) ? suffix : nil
        }
        guard let first = suffixes.first, let first, !suffixes.contains(nil) else { return nil }
        return String(decoding: first, as: UTF8.self)
    }

    /// A common name that is an address or an internationalized name which no alternative name repeats (Baseline Requirements section
    /// 7.1.4.3). Another plain common name is none: it names nothing.
    package static func oddCommonName(_ leaf: CertificateFacts) -> String? {
        let names = leaf.alternativeNames?.dnsNames ?? []
        let addresses = (leaf.alternativeNames?.addresses ?? []).compactMap { IPAddress(bytes: $0) }
        return leaf.commonNames.first { isOdd($0, names, addresses) }
    }

    private static func isOdd(_ common: String, _ names: [String], _ addresses: [IPAddress]) -> Bool {
        guard common.utf8.count <= longestName, !names.contains(where: { normalized($0) == normalized(common) }),
            !addresses.contains(where: { $0.canonicalText.hasSameBytes(as: common) })
        else { return false }
        if let address = IPAddress(loosely: common) { return addresses.contains(address) }
        let labels = common.utf8.split(separator: 0x2E, omittingEmptySubsequences: false)
        guard labels.count > 1, labels.allSatisfy({ !$0.isEmpty && !$0.contains(0x20) }) else { return false }
        return labels.contains { label in
            label.contains { $0 >= 0x80 } || label.prefix(4).equalsIgnoringASCIICase("xn--")
        }
    }

    /// ASCII letters in lower case, without the dot at the end.
    private static func normalized(_ name: String) -> [UInt8] {
        var bytes = name.utf8.asciiLowercased
        if bytes.last == 0x2E { bytes.removeLast() }
        return bytes
    }

    /// A DNS name has at most 253 bytes (RFC 1035 section 2.3.4), and a dot at the end.
    private static let longestName = 254
}
