// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import TLSModel
import Vocabulary

/// The entries of NSExceptionDomains that are tried for one host when the smallest one is searched, least exposure first.
///
/// The one list for `ats check`, `ats minimize` and `ats proxy`. The order never puts a set of keys before one of its parts, so the first
/// that works has no smaller one that works: forward secrecy before versions, because App Review asks for no justification of it; insecure
/// HTTP last, because it gives up most.
package enum ExceptionLadder {
    /// The first is the empty entry: the defaults.
    package static let entries: [ExceptionEntry] = {
        let tls: [(minimum: TLSVersionName?, secrecy: Bool)] = [
            (nil, true), (nil, false), (.tls11, true), (.tls10, true), (.tls11, false), (.tls10, false),
        ]
        return [false, true].flatMap { isInsecure in
            tls.map {
                ExceptionEntry(
                    allowsInsecureHTTPLoads: isInsecure, minimumTLSVersion: $0.minimum,
                    requiresForwardSecrecy: $0.secrecy)
            }
        }
    }()

    /// The key by which a dictionary names a host: its own name, but the whole range for an address of carrier NAT and of VPNs, since those
    /// change, and a range of one for an address in another spelling than the usual one, since a single address is compared as text.
    package static func key(for host: String, on profile: OSProfile) -> String {
        guard profile.readsAddressKeys.value, let address = IPAddress(host) else { return host }
        if LocalHosts.isShared(address) { return LocalHosts.sharedRange }
        let usual = address.canonicalText
        return usual.hasSameBytes(as: host) ? host : "\(usual)/\(address.bytes.count * 8)"
    }

    /// Dictionaries that loosen more and more for the host of a URL, least exposure first, and then for the whole app.
    ///
    /// They begin from the entry that decides now: what it says besides stays, also where it is that of a domain above and the host gets a copy of its
    /// own. NSAllowsLocalNetworking is among them where it is NO, since it may be that alone which keeps a local host back.
    package static func edits(of dictionary: ATSDictionary, for url: LoadURL, on profile: OSProfile) -> [ATSDictionary]
    {
        var all = dictionary
        all.arbitraryLoads = true
        var local = dictionary
        local.localNetworking = true
        let wide = dictionary.localNetworking == false ? [local] : []
        guard url.literalAddress == nil || profile.readsAddressKeys.value else { return wide + [all] }
        let deciding = ATSPolicy(dictionary: dictionary, profile: profile).deciding(url)
        let isShared = url.literalAddress.map(LocalHosts.isShared) == true
        var key = Self.key(for: url.host, on: profile)
        var own = deciding?.entry ?? ExceptionEntry()
        if let found = deciding?.key, isShared || found.hasSameBytes(as: url.host) {
            key = found
        } else {
            own = own.withoutLegacyKeys(on: profile)
            own.includesSubdomains = false
        }
        func edits(_ steps: [ExceptionEntry]) -> [ATSDictionary] {
            steps.flatMap { step -> [ExceptionEntry] in
                var entry = own
                if let lowest = step.minimumTLSVersion {
                    entry.minimumTLSVersion = min(own.minimumTLSVersion ?? lowest, lowest)
                }
                entry.requiresForwardSecrecy = entry.requiresForwardSecrecy && step.requiresForwardSecrecy
                entry.allowsInsecureHTTPLoads = entry.allowsInsecureHTTPLoads || step.allowsInsecureHTTPLoads
                guard entry.minimumTLSVersion == .tls13 else { return [entry] }
                var older = entry
                older.minimumTLSVersion = .tls12
                return [entry, older]
            }.map { entry in
                var edited = dictionary
                edited.exceptions[key] = entry
                return edited
            }
        }
        return edits(entries.filter { !$0.allowsInsecureHTTPLoads }) + wide
            + edits(entries.filter(\.allowsInsecureHTTPLoads)) + [all]
    }

    /// A dictionary with these entries, without those that change nothing.
    package static func dictionary(_ entries: [String: ExceptionEntry]) -> ATSDictionary {
        ATSDictionary(exceptions: entries.filter { $0.value != ExceptionEntry() })
    }

    /// Every dictionary that the search for one host may judge: the defaults, an entry that says nothing, which frees local names on the first
    /// systems, and one with each step.
    package static func candidates(key: String) -> [ATSDictionary] {
        [ATSDictionary()] + entries.map { ATSDictionary(exceptions: [key: $0]) }
    }
}

extension ATSDictionary {
    /// NSAllowsArbitraryLoads and nothing else: what is left if no exception can name a host.
    package static let allowingEverything = ATSDictionary(arbitraryLoads: true, exceptions: [:])
}
