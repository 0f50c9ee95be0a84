// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import Findings
import PropertyLists

extension RuleCatalog {
    static let ats010 = Rule(
        "ATS010",
        .error,
        "A key is at the wrong level.",
        reason: """
            Each key is read in one place only: the global ones directly in NSAppTransportSecurity, those of an exception in the dictionary of a host. \
            Anywhere else a key is silently ignored.
            """,
        citation: .apple(ATSKey.dictionary, read: "2026-11-21"),
        fixDescription: "removes the key, which changes nothing: it is not read there",
        fires: Example("<key>NSExceptionRequiresForwardSecrecy</key>\n<false/>"),
        passes: .domain("<key>NSExceptionRequiresForwardSecrecy</key><false/>"),
        notApplicable: Example("<key>NSAllowsArbitraryLoads</key>\n<false/>"),
        check: .plist { facts, hits in
            for member in facts.subject.document.root.members ?? [] {
                guard KeyPlacement.belongs(member.key) != nil else { continue }
                misplaced(member, [], "at the top of the Info.plist", &hits)
            }
            for member in facts.members where KeyPlacement.of(member.key, at: .global) == .elsewhere {
                misplaced(member, PlistFacts.atsPath, "directly in NSAppTransportSecurity", &hits)
            }
            for (container, entry) in facts.misplaced {
                misplaced(entry.member, Array(entry.path.dropLast()), "among the hosts of \(container)", &hits)
            }
            for (entries, level, container) in [
                (facts.exceptions, KeyPlacement.Level.exception, ATSKey.exceptionDomains),
                (facts.pins, .pin, ATSKey.pinnedDomains),
            ] {
                for entry in entries {
                    for member in entry.members ?? [] where KeyPlacement.of(member.key, at: level) == .elsewhere {
                        misplaced(member, entry.path, "in the entry of a host of \(container)", &hits)
                    }
                }
            }
        }
    )

    private static func misplaced(_ member: PlistMember, _ path: [String], _ place: String, _ hits: inout Hits) {
        // Pins outside their place are told by ATS026.
        guard member.key != ATSKey.pinnedDomains, let home = KeyPlacement.belongs(member.key) else { return }
        hits.report(
            member, path + [member.key], "\(member.key) is \(place), where it is never read. It belongs \(home).",
            fix: "Move it: \(member.key) is read only \(home).", edits: [.remove(member)])
    }
}
