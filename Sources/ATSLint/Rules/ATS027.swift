// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import Vocabulary

extension RuleCatalog {
    static let ats027 = Rule(
        id: "ATS027",
        severity: .note,
        summary: "An exception makes a host stricter than the rest.",
        reason: """
            A host with an entry in NSExceptionDomains, even an empty one, is no longer affected by the global keys. \
            With NSAllowsArbitraryLoads = true that is the documented way to turn ATS back on for one host; otherwise an empty entry does nothing, \
            unless local addresses are in its range.
            """,
        citation: .apple(ATSKey.exceptionDomains, read: "2026-11-21"),
        fires: Example(
            ats:
                "<key>NSAllowsArbitraryLoads</key>\n<true/>\n<key>NSExceptionDomains</key>\n<dict>\n<key>api.example.com</key>\n<dict/>\n</dict>"
        ),
        passes: Example(ats: "<key>NSAllowsArbitraryLoads</key>\n<true/>"),
        notApplicable: .domain("<key>NSExceptionMinimumTLSVersion</key><string>TLSv1.3</string>"),
        check: .plist { facts, hits in
            for entry in facts.exceptions {
                guard let effects = entry.effects, let members = entry.members else { continue }
                let restores = zip(effects.plain, effects.without).map {
                    !$0.isPermitted && $1.isPermitted && $1.source == .global
                }
                if facts.systems.someSupported(restores) {
                    hits.report(
                        entry.member, entry.path,
                        "NSAllowsArbitraryLoads turns ATS off, and this entry turns it back on for \(entry.key): plain HTTP to it is blocked\(facts.systems.words(restores) ?? "").",
                        fix: "Nothing to do if that is intended; otherwise remove the entry.",
                        advice: [Advice([.remove(entry.member)], .otherLoads)])
                } else if effects.localState == .notLocal, facts.systems.someSupported(effects.blocksLocal) {
                    hits.report(
                        entry.member, entry.path,
                        "Local addresses need no TLS, and this entry for \(effects.name) covers some: plain HTTP to them is blocked\(facts.systems.words(effects.blocksLocal) ?? "").",
                        fix: "Nothing to do if that is intended; otherwise remove the entry.",
                        advice: [Advice([.remove(entry.member)], .otherLoads)])
                } else if members.isEmpty, effects.changesNothing {
                    hits.report(
                        entry.member, entry.path,
                        "The entry of \(entry.key) is empty and changes nothing: the host keeps the default rules without it too.",
                        fix: "Remove it.", advice: [Advice([.remove(entry.member)], .sameLoads)])
                }
            }
        }
    )
}
