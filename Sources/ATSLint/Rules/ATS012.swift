// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import PropertyLists
import Vocabulary

extension RuleCatalog {
    static let ats012 = Rule(
        id: "ATS012",
        severity: .warning,
        summary: "NSAllowsArbitraryLoads switches ATS off for every host without an exception.",
        reason: """
            Plain HTTP and old TLS work to any host, and the app's own code may accept any certificate. \
            App Review asks for a justification. Hosts listed in NSExceptionDomains keep their own rules. \
            \(ReviewReason.sentence(for: ATSKey.arbitraryLoads))
            """,
        citation: .apple(ATSKey.arbitraryLoads, read: "2026-11-21"),
        fires: Example(ats: "<key>NSAllowsArbitraryLoads</key>\n<true/>"),
        passes: Example(ats: "<key>NSAllowsArbitraryLoads</key>\n<false/>"),
        notApplicable: Example(
            ats: "<key>NSAllowsArbitraryLoads</key>\n<true/>\n<key>NSAllowsArbitraryLoadsInWebContent</key>\n<false/>"),
        check: .plist { facts, hits in
            let permits = facts.permits()
            guard let member = facts.global(ATSKey.arbitraryLoads), facts.systems.someSupported(permits) else { return }
            hits.report(
                member, facts.path(member.key),
                "NSAllowsArbitraryLoads = true switches ATS off\(facts.systems.words(permits) ?? "") for every host that has no entry in NSExceptionDomains. App Review asks why.",
                fix: !facts.arbitraryLoadsSiblings.isEmpty
                    ? "Keep both while the app supports such systems."
                    : "Remove it and give the hosts that need it an exception; 'sealward ats minimize' finds the smallest one.",
                trigger: member.key)
        }
    )
}
