// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import PropertyLists
import Vocabulary

extension RuleCatalog {
    static let ats010 = Rule(
        id: "ATS010",
        severity: .error,
        summary: "A key is at the wrong level.",
        reason: """
            Each key is read in one place only: the global ones directly in NSAppTransportSecurity, those of an exception in the dictionary of a host. \
            Anywhere else a key is silently ignored.
            """,
        citation: .apple(ATSKey.dictionary, read: "2026-11-21"),
        fires: Example(ats: "<key>NSExceptionRequiresForwardSecrecy</key>\n<false/>"),
        passes: .domain("<key>NSExceptionRequiresForwardSecrecy</key><false/>"),
        notApplicable: Example(ats: "<key>NSAllowsArbitraryLoads</key>\n<false/>"),
        check: .plist { facts, hits in
            facts.eachKey { key in
                let member = key.member
                // Pins outside their place are told by ATS026.
                guard member.key != ATSKey.pinnedDomains, let reading = KeyReading(member.key, at: key.level),
                    !reading.isMisspelled
                else { return }
                let value = Spelling.valueToWrite(member.key, member.node).map { " with \($0)" } ?? ""
                let cancels = facts.cancels(member.key, member)
                let moving = value.isEmpty ? facts.moving(key, as: member.key) : nil
                hits.report(
                    member, key.path,
                    "\(member.key) is \(key.place), where it is never read. It belongs \(reading.home)\(cancels ? ", and there it would cancel NSAllowsArbitraryLoads = true" : "").",
                    fix: cancels
                        ? "Remove it, or remove NSAllowsArbitraryLoads and move it."
                        : "Move it: \(member.key)\(value) is read only \(reading.home).",
                    advice: cancels
                        ? [Advice([.remove(member)], .sameLoads)] : moving.map { [Advice($0, .goes)] } ?? [])
            }
        }
    )
}
