// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import TLSFacts

/// Whether a certificate names a host: RFC 6125, with wildcards as whole left-most labels only.
enum NameMatch {
    case matches
    /// The host is the common name, and there is no subject alternative name where one is required.
    case onlyCommonName
    case noNames
    case otherNames([String])

    static func judge(_ leaf: CertificateFacts, host: String, mayUseCommonName: Bool) -> NameMatch {
        let wanted = host.hasSuffix(".") ? String(host.dropLast()) : host
        if let names = leaf.alternativeNames, !(names.dnsNames.isEmpty && names.addresses.isEmpty) {
            if let address = IPAddress(wanted) {
                if names.addresses.contains(address.bytes) { return .matches }
            } else if names.dnsNames.contains(where: { covers($0, wanted) }) {
                return .matches
            }
            return .otherNames(names.dnsNames + names.addresses.map(text))
        }
        guard leaf.commonNames.contains(where: { covers($0, wanted) }) else {
            return leaf.commonNames.isEmpty || !mayUseCommonName ? .noNames : .otherNames(leaf.commonNames)
        }
        return mayUseCommonName ? .matches : .onlyCommonName
    }

    private static func covers(_ pattern: String, _ host: String) -> Bool {
        var pattern = pattern.lowercased()
        if pattern.hasSuffix(".") { pattern.removeLast() }
        if pattern == host.lowercased() { return true }
        guard pattern.hasPrefix("*."), IPAddress(host) == nil, let dot = host.firstIndex(of: ".") else { return false }
        let suffix = pattern.dropFirst(2)
        // `*.com` covers nothing: a wildcard needs two labels behind it.
        return suffix.contains(".") && dot != host.startIndex && host[host.index(after: dot)...].lowercased() == suffix
    }

    private static func text(_ address: [UInt8]) -> String {
        if address.count == 4 { return address.map(String.init).joined(separator: ".") }
        return stride(from: 0, to: address.count - address.count % 2, by: 2)
            .map { String(UInt16(address[$0]) << 8 | UInt16(address[$0 + 1]), radix: 16) }.joined(separator: ":")
    }
}
