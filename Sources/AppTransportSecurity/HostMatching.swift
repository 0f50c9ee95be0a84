// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import TLSFacts

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
    }

    private let entries: [String: ExceptionEntry]
    private let builtIn: [String: ExceptionEntry]
    /// Longest prefix first.
    private let ranges: [(range: AddressRange, key: String)]
    private let readsAddressKeys: Bool

    init(_ dictionary: ATSDictionary, _ profile: OSProfile) {
        entries = dictionary.exceptions
        builtIn = profile.builtInExceptions.value
        readsAddressKeys = profile.readsAddressKeys.value
        ranges = dictionary.exceptions.keys.sorted()
            .compactMap { key in AddressRange(key).map { ($0, key) } }
            .sorted { $0.0.prefixLength > $1.0.prefixLength }
    }

    func match(_ url: LoadURL) -> Match? {
        if let address = url.literalAddress {
            guard readsAddressKeys else { return nil }
            if let entry = entries[url.host] { return Match(key: url.host, entry: entry, isBuiltIn: false, depth: 0) }
            guard let found = ranges.first(where: { $0.range.contains(address) }), let entry = entries[found.key] else {
                return nil
            }
            return Match(key: found.key, entry: entry, isBuiltIn: false, depth: 0)
        }
        if let match = entry(for: url.host, depth: 0) { return match }
        var name = Substring(url.host)
        var depth = 0
        while let dot = name.firstIndex(of: ".") {
            name = name[name.index(after: dot)...]
            depth += 1
            if name.isEmpty { break }
            if let match = entry(for: String(name), depth: depth), match.entry.includesSubdomains { return match }
        }
        return nil
    }

    /// The app's own entry for exactly this name, or else the system's.
    private func entry(for name: String, depth: Int) -> Match? {
        if let entry = entries[name] { return Match(key: name, entry: entry, isBuiltIn: false, depth: depth) }
        return builtIn[name].map { Match(key: name, entry: $0, isBuiltIn: true, depth: depth) }
    }
}

/// Whether a host is local, by the rule of a system.
extension OSProfile {
    /// Whether a host is like any other: no address, no local name, and none that the system has an entry for. Policies whose only
    /// entry is for exactly this host decide the same for all such hosts.
    package func treatsAsAnyOther(_ url: LoadURL) -> Bool {
        guard url.isSecure, url.literalAddress == nil, !LocalHosts.isLocalName(url.host) else { return false }
        let host = url.host.utf8
        // The entries are few: comparing ends takes less time than cutting the host into its ancestors.
        return !builtInExceptions.value.keys.contains { name in
            let labels = name.utf8
            guard host.count >= labels.count, host.suffix(labels.count).elementsEqual(labels) else { return false }
            return host.count == labels.count || host.dropLast(labels.count).last == 0x2E
        }
    }
}

enum LocalHosts {
    static func contains(_ url: LoadURL, _ rule: OSProfile.LocalRule) -> Bool {
        switch rule {
        case .nothing: false
        case .namesAndAddresses: url.literalAddress != nil || isLocalName(url.host)
        case .namesAndDirectAddresses: url.literalAddress.map(isDirect) ?? isLocalName(url.host)
        }
    }

    static func isLocalName(_ host: String) -> Bool {
        host.hasSuffix(".local") || host.hasSuffix(".local.") || !host.utf8.contains(0x2E)
    }

    /// Whether an address is of the local network.
    static func isDirect(_ address: IPAddress) -> Bool { direct.contains { $0.contains(address) } }

    /// Whether the range that holds the address is one that no Apple source confirms.
    static func isUnverified(_ address: IPAddress) -> Bool { unverified.contains { $0.contains(address) } }

    /// Loopback and link-local: Apple's own tests (SecProtocolConfigurationTest.m). Private ranges: field reports.
    /// 100.64/10 is not local: several projects need entries for it.
    private static let direct =
        ["127.0.0.0/8", "::1/128", "fe80::/10"].compactMap { AddressRange($0) } + unverified

    private static let unverified = ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "169.254.0.0/16", "fc00::/7"]
        .compactMap { AddressRange($0) }
}
