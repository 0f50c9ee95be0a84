// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import PropertyLists
import Vocabulary

extension RuleCatalog {
    static let ats014 = Rule(
        id: "ATS014",
        severity: .warning,
        summary: "NSAllowsArbitraryLoadsInWebContent needs a justification for App Review.",
        reason: """
            ATS is off for what web views load. The app itself keeps ATS, but pages it shows may load anything, and video inside them is loaded by another process. \
            \(ReviewReason.sentence(for: ATSKey.arbitraryLoadsInWebContent))
            """,
        citation: .apple(ATSKey.arbitraryLoadsInWebContent, read: "2026-11-21"),
        firstOS: SystemChange.globalKeys.list,
        fires: Example(ats: "<key>NSAllowsArbitraryLoadsInWebContent</key>\n<true/>"),
        passes: Example(ats: "<key>NSAllowsArbitraryLoadsInWebContent</key>\n<false/>"),
        notApplicable: Example(ats: "<key>NSAllowsLocalNetworking</key>\n<true/>"),
        check: .plist { facts, hits in
            let permits = facts.permits(.web)
            guard let member = facts.global(ATSKey.arbitraryLoadsInWebContent), facts.flag(member.key) == true,
                facts.systems.someSupported(permits)
            else { return }
            hits.report(
                member, facts.path(member.key),
                "\(member.key) = true switches ATS off for web views. App Review asks why.",
                fix: "Remove it if the web views show only your own pages; a browser needs it.", trigger: member.key)
        }
    )
}
