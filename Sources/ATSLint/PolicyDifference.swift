// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import PropertyLists
import TLSModel
import Vocabulary

/// Compares two ATS dictionaries by what they do, not by how they are written, and reports what got weaker.
///
/// Both are asked about the same URLs: every host that either names, names below those that include subdomains, and stand-ins
/// for all others (a public name, a public address, local hosts), each over http and https, by the app, by web views and for media.
package struct PolicyDifference: Sendable {
    /// One way in which a host is worse off.
    struct Weakening: Sendable, Hashable {
        let rule: String
        let host: String
        let message: String
        /// The key of the new dictionary that decides now, below NSAppTransportSecurity.
        let key: String?

        /// Whether it is about all hosts without an entry.
        let isGeneral: Bool

        /// The same with the systems in its message.
        func limited(to words: String) -> Weakening {
            Weakening(
                rule: rule, host: host, message: message.dropLast() + words + ".", key: key, isGeneral: isGeneral)
        }
    }

    let weakenings: [Weakening]
    /// Whether a load is blocked that was permitted, over cleartext or over TLS.
    let blocksMore: Bool

    /// Compares the dictionaries of two lists on the systems that the newer one supports.
    package init(old: LintSubject, new: LintSubject) {
        let before = ATSDictionary(old.document.root[ATSKey.dictionary]?.propertyListValue)
        let after = ATSDictionary(new.document.root[ATSKey.dictionary]?.propertyListValue)
        let systems = new.systems
        let hosts = ProbeHost.all(before, after)
        var found: [Weakening] = []
        var eras: [Weakening: [Bool]] = [:]
        var blocksMore = false
        for era in systems.supported {
            let oldPolicy = ATSPolicy(dictionary: before, profile: systems.profiles[era])
            let newPolicy = ATSPolicy(dictionary: after, profile: systems.profiles[era])
            for host in hosts {
                let (weaker, blocks) = Self.compare(host, oldPolicy, newPolicy)
                blocksMore = blocksMore || blocks
                for weakening in weaker {
                    if eras[weakening] == nil { found.append(weakening) }
                    eras[weakening, default: systems.profiles.map { _ in false }][era] = true
                }
            }
        }
        self.blocksMore = blocksMore
        // Where it holds on all systems that are supported, that need not be said.
        weakenings = found.map { weakening in
            let holds = eras[weakening] ?? []
            return systems.allSupported(holds) ? weakening : weakening.limited(to: systems.words(holds) ?? "")
        }
    }

    var isEmpty: Bool { weakenings.isEmpty }

    private static func compare(
        _ host: ProbeHost, _ old: ATSPolicy, _ new: ATSPolicy
    ) -> (weakenings: [Weakening], blocksMore: Bool) {
        let (plain, secure) = (host.load.plain, host.load.secure)
        var result: [Weakening] = []
        var seen: Set<String> = []
        var blocksMore = false
        for (loader, words) in [(Loader.urlsession, ""), (.web, " in web views"), (.media, " for media")] {
            func add(_ rule: String, _ message: String, _ key: String?) {
                if seen.insert(rule).inserted {
                    result.append(
                        Weakening(rule: rule, host: host.words, message: message, key: key, isGeneral: host.isGeneral))
                }
            }
            let (oldPlain, newPlain) = (old.decide(plain, loader: loader), new.decide(plain, loader: loader))
            if oldPlain.verdict == .blocked, newPlain.verdict != .blocked {
                add("ATS050", "\(host.words): plain HTTP was blocked\(words) and is now allowed.", newPlain.rule.key)
            }
            let (oldTLS, newTLS) = (old.decide(secure, loader: loader), new.decide(secure, loader: loader))
            blocksMore =
                blocksMore
                || zip([oldPlain, oldTLS], [newPlain, newTLS]).contains {
                    $0.verdict != .blocked && $1.verdict == .blocked
                }
            let (before, after) = (oldTLS.requirements, newTLS.requirements)
            if after.effectiveMinimum < before.effectiveMinimum {
                add(
                    "ATS051",
                    "\(host.words): the minimum TLS version drops\(words) from \(before.effectiveMinimum) to \(after.effectiveMinimum).",
                    newTLS.rule.key)
            }
            if after.suitePolicy.rank > before.suitePolicy.rank || before.isHardened && !after.isHardened {
                add("ATS052", "\(host.words): weaker cipher suites are allowed\(words).", newTLS.rule.key)
            }
            if before.serverTrust == .ats && after.serverTrust != .ats
                || !before.delegateMayAccept && after.delegateMayAccept
            {
                add(
                    "ATS053",
                    "\(host.words): certificates are judged less strictly\(words), and the app's code may accept refused ones.",
                    newTLS.rule.key)
            }
            if before.entryRequiresTransparency, !after.entryRequiresTransparency {
                add(
                    "ATS053",
                    "\(host.words): signed certificate timestamps are no longer required on systems before \(SystemChange.transparencyKeyEnds.names).",
                    newTLS.rule.key)
            }
            if !PinSet.accepts(before.pins, asMuchAs: after.pins) {
                let what = after.pins == nil ? "is no longer pinned" : "accepts keys that it did not accept before"
                add("ATS054", "\(host.words) \(what).", "NSPinnedDomains.\(host.name)")
            }
        }
        return (result, blocksMore)
    }
}

/// A host that two policies are asked about.
struct ProbeHost: Sendable {
    let name: String
    let words: String
    /// Whether it stands for all hosts without an entry.
    let isGeneral: Bool
    let load: EntryEffects.Load

    /// Nil if no load can have that host.
    init?(_ name: String, words: String? = nil, isGeneral: Bool = false) {
        guard let load = EntryEffects.Load(host: name) else { return nil }
        (self.name, self.words, self.isGeneral, self.load) = (name, words ?? name, isGeneral, load)
    }

    /// The most hosts of one dictionary that are compared.
    private static let limit = 20_000

    static func all(_ old: ATSDictionary, _ new: ATSDictionary) -> [ProbeHost] {
        let general = [
            ProbeHost(PlistFacts.anyHost, words: "Every host without an entry", isGeneral: true),
            ProbeHost("192.0.2.77", words: "Every address without an entry"),
            ProbeHost("localhost"), ProbeHost("printer.local", words: "Every .local name"),
            ProbeHost("10.77.77.77", words: "Addresses of the local network"),
        ]
        var names: Set<UTF8Key> = []
        func insert(_ name: String) { names.insert(UTF8Key(name)) }
        for dictionary in [old, new] {
            for (key, entry) in dictionary.exceptions {
                if let range = AddressRange(key) {
                    insert(range.base.description)
                } else {
                    insert(key)
                    // No URL has a host below an address.
                    if IPAddress(key) != nil { continue }
                    if entry.includesSubdomains { insert("subdomain.\(key)") }
                    insert("other.\(key)")
                }
            }
            for pinned in dictionary.pinnedDomains {
                insert(pinned.domain)
                if pinned.includesSubdomains { insert("subdomain.\(pinned.domain)") }
            }
        }
        var hosts: [ProbeHost] = []
        for name in names.sorted() where hosts.count < limit {
            if let host = ProbeHost(name.text) { hosts.append(host) }
        }
        return general.compactMap(\.self) + hosts
    }
}
