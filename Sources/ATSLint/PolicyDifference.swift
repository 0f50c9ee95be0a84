// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import Findings
import PropertyLists
import TLSFacts

/// Compares two ATS dictionaries by what they do, not by how they are written, and reports what got weaker.
///
/// Both are asked about the same URLs: every host that either names, names below those that include subdomains, and stand-ins
/// for all others (a public name, a public address, local hosts), each over http and https, by the app, by web views and for media.
package struct PolicyDifference: Sendable {
    /// One way in which a host is worse off.
    struct Weakening: Sendable, Hashable {
        let rule: String
        /// The host in words.
        let host: String
        let message: String
        /// The key of the new dictionary that decides now, below NSAppTransportSecurity.
        let key: String?

        /// Whether it is about all hosts without an entry.
        let isGeneral: Bool
    }

    let weakenings: [Weakening]

    /// Compares the dictionaries of two lists on the system of today, and on the last systems on which other keys counted, where the app still
    /// runs there.
    package init(old: LintSubject, new: LintSubject) {
        // The newest system also reads the keys of the NIAP package.
        var profiles: [OSProfile] = [.standard, .newestMacOS]
        if let minimum = new.minimumOS {
            profiles += [SystemChange.globalKeys, .transparencyKeyEnds].filter(minimum.isBefore).compactMap {
                $0.last(of: minimum.line.rawValue)
            }
        }
        self.init(
            old: old.document.root[ATSKey.dictionary]?.propertyListValue,
            new: new.document.root[ATSKey.dictionary]?.propertyListValue, profiles: profiles)
    }

    init(old: PropertyListValue?, new: PropertyListValue?, profiles: [OSProfile]) {
        let before = ATSDictionary(old)
        let after = ATSDictionary(new)
        let hosts = ProbeHost.all(before, after)
        var found: [Weakening] = []
        var seen: Set<Weakening> = []
        for profile in profiles {
            let oldPolicy = ATSPolicy(dictionary: before, profile: profile)
            let newPolicy = ATSPolicy(dictionary: after, profile: profile)
            for host in hosts {
                for weakening in Self.compare(host, oldPolicy, newPolicy) where seen.insert(weakening).inserted {
                    found.append(weakening)
                }
            }
        }
        weakenings = found
    }

    /// Whether nothing got weaker.
    var isEmpty: Bool { weakenings.isEmpty }

    private static func compare(_ host: ProbeHost, _ old: ATSPolicy, _ new: ATSPolicy) -> [Weakening] {
        var result: [Weakening] = []
        var seen: Set<String> = []
        for (loader, words) in [(Loader.urlsession, ""), (.web, " in web views"), (.media, " for media")] {
            guard let plain = host.plain, let secure = host.secure else { continue }
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
            let (before, after) = (oldTLS.requirements, newTLS.requirements)
            // What the dictionaries say, for systems and SDKs of every age: a newer network stack may raise both.
            if after.policyMinimum < before.policyMinimum {
                add(
                    "ATS051",
                    "\(host.words): the minimum TLS version drops\(words) from \(before.policyMinimum) to \(after.policyMinimum).",
                    newTLS.rule.key)
            }
            if rank(after.suitePolicy) > rank(before.suitePolicy) || before.isHardened && !after.isHardened {
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
            if isLooser(after.pins, than: before.pins) {
                let what = after.pins == nil ? "is no longer pinned" : "accepts keys that it did not accept before"
                add("ATS054", "\(host.words) \(what).", "NSPinnedDomains.\(host.name)")
            }
        }
        return result
    }

    private static func rank(_ policy: TransportRequirements.SuitePolicy) -> Int {
        switch policy {
        case .ats: 0
        case .atsPlusRSA: 1
        case .system: 2
        }
    }

    private static func isLooser(_ new: PinSet?, than old: PinSet?) -> Bool {
        guard let old else { return false }
        guard let new else { return true }
        return isLooser(new.authorities, than: old.authorities) || isLooser(new.leaves, than: old.leaves)
    }

    private static func isLooser(_ new: Set<[UInt8]>?, than old: Set<[UInt8]>?) -> Bool {
        guard let old else { return false }
        guard let new else { return true }
        return !new.isSubset(of: old)
    }
}

/// A host that two policies are asked about.
struct ProbeHost: Sendable {
    let name: String
    let words: String
    /// Whether it stands for all hosts without an entry.
    let isGeneral: Bool
    let plain: LoadURL?
    let secure: LoadURL?

    init(_ name: String, words: String? = nil, isGeneral: Bool = false) {
        self.name = name
        self.isGeneral = isGeneral
        self.words = words ?? name
        let host = name.utf8.contains(0x3A) ? "[\(name)]" : name
        plain = try? LoadURL("http://\(host)/")
        secure = try? LoadURL("https://\(host)/")
    }

    /// The most hosts of one dictionary that are compared.
    private static let limit = 20_000

    static func all(_ old: ATSDictionary, _ new: ATSDictionary) -> [ProbeHost] {
        var hosts = [
            ProbeHost("host.invalid", words: "Every host without an entry", isGeneral: true),
            ProbeHost("192.0.2.77", words: "Every address without an entry"),
            ProbeHost("localhost", words: "localhost"), ProbeHost("printer.local", words: "Every .local name"),
            ProbeHost("10.77.77.77", words: "Addresses of the local network"),
        ]
        var names: Set<UTF8Key> = []
        // A name of more than 254 bytes is no host, and nothing is asked about it.
        func insert(_ name: String) {
            if name.utf8.count <= 254 { names.insert(UTF8Key(name)) }
        }
        for dictionary in [old, new] {
            for (key, entry) in dictionary.exceptions {
                if let range = AddressRange(key) {
                    insert(range.base.description)
                } else {
                    insert(key)
                    if entry.includesSubdomains { insert("subdomain.\(key)") }
                    insert("other.\(key)")
                }
            }
            for pinned in dictionary.pinnedDomains {
                insert(pinned.domain)
                if pinned.includesSubdomains { insert("subdomain.\(pinned.domain)") }
            }
        }
        for name in names.sorted().prefix(limit) {
            let probe = ProbeHost(name.text)
            if probe.plain != nil { hosts.append(probe) }
        }
        return hosts
    }
}
