// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import PropertyLists
import Vocabulary

extension RuleCatalog {
    static let ats011 = Rule(
        id: "ATS011",
        severity: .error,
        summary: "NSAllowsArbitraryLoads is dead because a newer global key is present.",
        reason: """
            Since \(SystemChange.globalKeys.names) NSAllowsArbitraryLoads is ignored as soon as NSAllowsArbitraryLoadsForMedia, \
            NSAllowsArbitraryLoadsInWebContent or NSAllowsLocalNetworking is present, whatever its value. iOS 9 obeys only NSAllowsArbitraryLoads: \
            for an app that still runs there the pair is the documented way to serve both.
            """,
        citation: .apple(ATSKey.dictionary, read: "2026-11-21"),
        firstOS: SystemChange.globalKeys.list,
        fixDescription: "removes the dead key",
        fires: Example(ats: "<key>NSAllowsArbitraryLoads</key>\n<true/>\n<key>NSAllowsLocalNetworking</key>\n<true/>"),
        passes: Example(ats: "<key>NSAllowsLocalNetworking</key>\n<true/>"),
        notApplicable: Example(
            ats: "<key>NSAllowsArbitraryLoads</key>\n<false/>\n<key>NSAllowsLocalNetworking</key>\n<true/>"),
        check: .plist { facts, hits in
            let siblings = facts.arbitraryLoadsSiblings
            guard let member = facts.global(ATSKey.arbitraryLoads), facts.flag(member.key) == true, !siblings.isEmpty
            else {
                return
            }
            let others = siblings.map(\.key).joined(separator: " and ")
            let counts = facts.permits()
            if facts.systems.someSupported(counts), let minimum = facts.subject.minimumOS {
                hits.report(
                    member, facts.path(member.key),
                    "NSAllowsArbitraryLoads is obeyed\(facts.systems.words(counts) ?? "") (the app supports \(minimum.name) and later) and ignored on later systems because of \(others).",
                    fix: "Keep both while the app supports such systems.", severity: .note, trigger: member.key)
                return
            }
            let removals = siblings.map { TextEdit.remove($0) }
            hits.report(
                member, facts.path(member.key),
                "NSAllowsArbitraryLoads = true is ignored since \(SystemChange.globalKeys.names), because \(others) \(siblings.count == 1 ? "is" : "are") present (the value does not matter). It changes no load there.",
                fix: "Remove NSAllowsArbitraryLoads; it counts only without \(others).", edits: [.remove(member)],
                advice: [Advice([.remove(member)], .sameLoads), Advice(removals, .otherLoads)], trigger: member.key)
        }
    )
}
