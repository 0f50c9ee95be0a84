// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import TLSModel

/// Finds the exception entry for a host, as Apple's evaluator does.
///
/// Source: Security 61901, SecProtocolConfiguration.m (`find_exception_for_host`). The documentation says that subdomains are one
/// label deep; the code walks up to any depth, skips ancestors that do not include subdomains, and merges nothing. The code wins.
struct ExceptionLookup: Sendable {
    struct Match: Sendable {
        let key: String
        let entry: ExceptionEntry
        let isBuiltIn: Bool
        /// How many labels the host has below the key: 0 for the same name.
        let depth: Int
        /// Where the entry would stand in a dictionary.
        var path: String { "\(ATSKey.exceptionDomains).\(key)" }
    }

    private let entries: [String: ExceptionEntry]
    private let builtIn: [String: ExceptionEntry]
    private let ranges: RangeKeys
    private let readsAddressKeys: Bool

    init(_ dictionary: ATSDictionary, _ profile: OSProfile) {
        entries = dictionary.exceptions
        builtIn = profile.facts.builtInExceptions.value
        readsAddressKeys = profile.readsAddressKeys.value
        ranges = RangeKeys(entries.keys)
    }

    func match(_ url: LoadURL) -> Match? {
        if let address = url.literalAddress {
            guard readsAddressKeys else { return nil }
            if let entry = entries[url.host] { return Match(key: url.host, entry: entry, isBuiltIn: false, depth: 0) }
            guard let key = ranges.around(address).first, let entry = entries[key] else { return nil }
            return Match(key: key, entry: entry, isBuiltIn: false, depth: 0)
        }
        for (depth, name) in url.host.selfAndParents.enumerated() where !name.isEmpty {
            if let match = entry(for: name, depth: depth), depth == 0 || match.entry.includesSubdomains { return match }
        }
        return nil
    }

    /// The app's own entry for exactly this name, or else the system's.
    private func entry(for name: String, depth: Int) -> Match? {
        if let entry = entries[name] { return Match(key: name, entry: entry, isBuiltIn: false, depth: depth) }
        return builtIn[name].map { Match(key: name, entry: $0, isBuiltIn: true, depth: depth) }
    }
}

/// The keys of exceptions that are ranges of addresses.
private struct RangeKeys: Sendable {
    /// By the range; two spellings of one range in the order of their names.
    private let keys: [AddressRange: [String]]
    /// Longest first.
    private let prefixLengths: [Int]

    init(_ keys: some Sequence<String>) {
        let ranges = keys.filter { $0.utf8.contains(0x2F) }.sorted()
            .compactMap { key in AddressRange(key).map { ($0.clean, [key]) } }
        self.keys = Dictionary(ranges, uniquingKeysWith: +)
        prefixLengths = Set(self.keys.keys.map(\.prefixLength)).sorted(by: >)
    }

    /// The keys whose ranges contain an address, the smallest range first.
    func around(_ address: IPAddress) -> [String] {
        prefixLengths.compactMap { AddressRange(around: address, prefixLength: $0) }.flatMap { keys[$0] ?? [] }
    }
}

/// Which exceptions of a dictionary can decide about a URL: without all others every decision about it is the same.
package struct ExceptionKeys: Sendable {
    private let keys: Set<String>
    private let ranges: RangeKeys

    package init(_ dictionary: ATSDictionary) {
        keys = Set(dictionary.exceptions.keys)
        ranges = RangeKeys(keys)
    }

    /// The keys that ``ExceptionLookup`` may read for a URL.
    package func about(_ url: LoadURL) -> [String] {
        if let address = url.literalAddress {
            return ranges.around(address) + (keys.contains(url.host) ? [url.host] : [])
        }
        return url.host.selfAndParents.filter(keys.contains)
    }
}

/// Which hosts are local. The linter asks here too.
package enum LocalHosts {
    static func contains(_ url: LoadURL, _ rule: SystemFacts.LocalRule) -> Bool {
        switch rule {
        case .nothing: false
        case .namesAndAddresses: url.literalAddress != nil || isLocalName(url.host)
        case .namesAndDirectAddresses: url.literalAddress.map(isDirect) ?? isLocalName(url.host)
        }
    }

    /// Whether a host name in lower case is local: a name without a dot, or one below `.local`.
    package static func isLocalName(_ host: String) -> Bool {
        host.hasSuffix(".local") || host.hasSuffix(".local.") || !host.utf8.contains(0x2E)
    }

    /// Whether no public CA issues for a host in lower case: a private or reserved address, or a name that is nobody's in the public DNS (RFC 6761,
    /// RFC 6762 appendix G, RFC 8375, and CA/Browser Forum BR section 4.2.2).
    package static func hasNoPublicCA(_ host: String) -> Bool {
        if let address = IPAddress(host) { return AddressKind(address).isPrivate }
        let name = host.hasSuffix(".") ? String(host.dropLast()) : host
        return isLocalName(name) || privateDomains.contains(where: name.isSameOrBelow)
    }

    /// Such names, with all below them.
    package static let privateDomains = [
        "local", "localhost", "test", "home.arpa", "intranet", "internal", "private", "corp", "home", "lan",
    ]

    /// Whether an address is of the local network.
    package static func isDirect(_ address: IPAddress) -> Bool { direct.contains { $0.contains(address) } }

    /// Whether the range that contains the address is one that no Apple source confirms.
    static func isUnverified(_ address: IPAddress) -> Bool { unverified.contains { $0.contains(address) } }

    /// Whether an address is of the range for carrier NAT, which many VPNs use (RFC 6598): it is not local.
    package static func isShared(_ address: IPAddress) -> Bool { shared?.contains(address) == true }

    /// That range as the key of an entry.
    package static let sharedRange = "100.64.0.0/10"
    private static let shared = AddressRange(sharedRange)

    /// The ranges of the local network. 100.64/10 is not local: several projects need entries for it.
    package static let direct = confirmed + unverified

    /// Loopback and link-local: Apple's own tests (SecProtocolConfigurationTest.m).
    package static let confirmed = ["127.0.0.0/8", "::1/128", "fe80::/10"].compactMap { AddressRange($0) }

    /// Private ranges: field reports.
    private static let unverified = ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "169.254.0.0/16", "fc00::/7"]
        .compactMap { AddressRange($0) }
}
