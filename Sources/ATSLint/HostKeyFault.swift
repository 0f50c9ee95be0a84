// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import PropertyLists
import TLSModel
import Vocabulary

/// What keeps a key from matching the host that it was meant for: all of it, and the one key to write.
struct HostKeyFault: Sendable, Equatable {
    /// The rule that reports it.
    let rule: String
    let severity: Severity?
    /// What is wrong, as the rest of a sentence that begins with the key.
    let words: String
    /// The key to write; nil if none is known.
    let right: String?
    /// Whether the key was meant for the hosts below too.
    let coversSubdomains: Bool

    private static let rules: [(NearMisses.Reason, String)] = [
        (.url, "ATS005"), (.port, "ATS004"), (.wildcard, "ATS006"), (.leadingDot, "ATS047"), (.blank, "ATS047"),
        (.letterCase, "ATS007"), (.trailingDot, "ATS008"),
    ]

    /// Nil if nothing is wrong with the key.
    init?(_ host: HostKey, isPin: Bool) {
        guard !BuildVariable.isIn(host.text) else { return nil }
        switch host.kind {
        case .malformedBlock:
            self.init("ATS009", "is not a valid range of addresses, so it is never read")
            return
        case .block(let range):
            guard range.hadHostBits else { return nil }
            self.init(
                "ATS009", "has bits after its prefix of \(range.prefixLength); they are ignored", .note,
                right: range.clean.text)
            return
        case .address, .name, .url: break
        }
        if let usual = host.usualSpelling, !isPin {
            self =
                host.hasUppercase
                ? HostKeyFault("ATS007", Self.dead([.letterCase]), right: usual)
                : host.kind == .name
                    ? HostKeyFault("ATS009", Self.dead([.addressSpelling]), right: usual)
                    : HostKeyFault(
                        "ATS009", "matches only URLs that spell the address in this way; the usual one is '\(usual)'",
                        .warning,
                        right: usual)
            return
        }
        if host.isPartOfAddress, !isPin {
            self.init(
                "ATS009",
                host.isWildcard
                    ? "matches no load and is never read: an asterisk matches nothing"
                    : "matches no load and is never read: it is no address, no range and no host name"
            )
            return
        }
        if host.kind == .name, !host.hasUppercase, !host.hasTrailingDot, host.isASCII,
            HostName.ascii(host.text)?.hasSameBytes(as: host.text) == true, !host.text.utf8.contains(0x3A)
        {
            return nil
        }
        guard let (right, all) = NearMisses.meant(by: host.text) else {
            let rule =
                host.kind == .url ? "ATS005" : host.hasPort ? "ATS004" : host.isWildcard ? "ATS006" : "ATS047"
            let why =
                rule == "ATS006" ? NearMisses.Reason.wildcard.words : "a key is a host name as it appears in a URL"
            self.init(rule, "matches no load and is never read: \(why)", coversSubdomains: host.isWildcard)
            return
        }
        let reasons = isPin ? all.filter { ![.letterCase, .trailingDot, .addressSpelling].contains($0) } : all
        guard !reasons.isEmpty else { return nil }
        if reasons == [.trailingDot] {
            self.init("ATS008", "ends with a dot, so it covers only URLs whose host ends with a dot too", right: right)
            return
        }
        let rule =
            reasons.contains {
                if case .international = $0 { true } else { false }
            } && !reasons.contains(.url) && !reasons.contains(.port) ? "ATS047" : nil
        self.init(
            rule ?? Self.rules.first { reasons.contains($0.0) }?.1 ?? "ATS047", Self.dead(reasons), right: right,
            coversSubdomains: reasons.contains(.wildcard) || reasons.contains(.leadingDot))
    }

    private init(
        _ rule: String, _ words: String, _ severity: Severity? = nil, right: String? = nil,
        coversSubdomains: Bool = false
    ) {
        self.rule = rule
        self.severity = severity
        self.words = words
        self.right = right
        self.coversSubdomains = coversSubdomains
    }

    private static func dead(_ reasons: [NearMisses.Reason]) -> String {
        "matches no load and is never read: " + reasons.map(\.words).joined(separator: "; ")
    }

    /// Whether the key matches nothing.
    var isDead: Bool { words.contains("is never read") }

    /// Reports the keys whose fault is one of this rule.
    static func report(_ rule: String, _ facts: PlistFacts, _ hits: inout Hits) {
        for entry in facts.allEntries {
            guard let fault = entry.fault, fault.rule == rule else { continue }
            var fix = "Write the host as it appears in the URL, without scheme, port and path."
            if rule == "ATS009" {
                fix =
                    "Write a network and a prefix length, for example 198.51.100.0/24 (0 to 32) or 2001:db8::/32 (0 to 128)."
            } else if fault.coversSubdomains {
                fix = "Write each host, or a parent domain with NSIncludesSubdomains = true."
            }
            var edits: [TextEdit] = []
            var advice: [Advice] = []
            if let right = fault.right {
                // The evaluator reads such a key for URLs that have the dot, and explain advises it for them.
                let unless = rule == "ATS008" ? ", unless the app's URLs have the dot" : ""
                if facts.needsNone(right, entry) {
                    fix = "Remove the entry\(unless): '\(right)' is local and needs none."
                    advice = [Advice([.remove(entry.member)], fault.isDead ? .sameLoads : .goes)]
                } else if facts.hasEntry(right, beside: entry) {
                    fix = "Remove it\(unless): another entry is for '\(right)', and one key can be there only once."
                    advice = [Advice([.remove(entry.member)], fault.isDead ? .sameLoads : .goes)]
                } else if fault.coversSubdomains {
                    fix = "Write '\(right)' with NSIncludesSubdomains = true."
                } else {
                    fix = "Write '\(right)'\(unless)."
                    edits = [.rename(entry.member, to: right)]
                    advice = [Advice(edits, .goes)]
                }
            }
            hits.report(
                entry.member, entry.path, "The key '\(entry.key.prefix(bytes: 120))' \(fault.words).", fix: fix,
                severity: fault.severity, edits: rule == "ATS006" || rule == "ATS008" ? [] : edits, advice: advice)
        }
    }
}

extension PlistFacts {
    /// Whether an entry that allows plain HTTP could go, because the host that it means is local.
    fileprivate func needsNone(_ host: String, _ entry: DomainEntry) -> Bool {
        guard HostKey(host).isLocal, (entry.members ?? []).contains(where: meansPlainHTTP),
            let load = EntryEffects.Load(host: host)
        else { return false }
        return systems.allSupported(
            scopes.about([load.plain]).effects(load.plain).map { $0.isPermitted && $0.source == .local })
    }
}

extension AddressRange {
    /// The range as a key: the network and the length of its prefix.
    var text: String { "\(base.canonicalText)/\(prefixLength)" }
}
