// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import Findings
import PropertyLists

extension RuleCatalog {
    static let ats011 = Rule(
        "ATS011",
        .warning,
        "NSAllowsArbitraryLoads is dead because a newer global key is present.",
        reason: """
            Since \(SystemChange.globalKeys.names) NSAllowsArbitraryLoads is ignored as soon as NSAllowsArbitraryLoadsForMedia, \
            NSAllowsArbitraryLoadsInWebContent or NSAllowsLocalNetworking is present, whatever its value. iOS 9 obeys only NSAllowsArbitraryLoads: \
            for an app that still runs there the pair is the documented way to serve both.
            """,
        citation: .apple(ATSKey.dictionary, read: "2026-11-21"),
        firstOS: SystemChange.globalKeys.list,
        fixDescription: "removes the dead key",
        fires: Example("<key>NSAllowsArbitraryLoads</key>\n<true/>\n<key>NSAllowsLocalNetworking</key>\n<true/>"),
        passes: Example("<key>NSAllowsLocalNetworking</key>\n<true/>"),
        notApplicable: Example(
            "<key>NSAllowsArbitraryLoads</key>\n<false/>\n<key>NSAllowsLocalNetworking</key>\n<true/>"),
        check: .plist { facts, hits in
            guard let member = facts.global(ATSKey.arbitraryLoads), facts.flag(member.key) == true,
                let sibling = facts.arbitraryLoadsSiblings.first
            else { return }
            let others = facts.arbitraryLoadsSiblings.map(\.key).joined(separator: ", ")
            if facts.reachesIOS9, let minimum = facts.subject.minimumOS {
                hits.report(
                    member, facts.path(member.key),
                    "NSAllowsArbitraryLoads is obeyed on systems before \(SystemChange.globalKeys.names) (the app supports \(minimum.name) and later) and ignored on later ones because of \(others).",
                    fix: "Keep both while the app supports such systems.", severity: .note, trigger: member.key)
                return
            }
            hits.report(
                member, facts.path(member.key),
                "NSAllowsArbitraryLoads = true is ignored since \(SystemChange.globalKeys.names), because \(others) is present (its value does not matter). Hosts without an exception need full ATS.",
                fix:
                    "Remove NSAllowsArbitraryLoads, or remove \(sibling.key) if the app really needs loads from everywhere.",
                edits: [.remove(member)], trigger: member.key)
        }
    )
}
