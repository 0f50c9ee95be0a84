// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import PropertyLists
import Vocabulary

extension RuleCatalog {
    static let ats013 = Rule(
        id: "ATS013",
        severity: .warning,
        summary: "NSAllowsArbitraryLoadsForMedia needs a justification for App Review.",
        reason: """
            ATS is off for media that AVFoundation loads. It is meant for media that are encrypted already and contain nothing personal. A source of 2016 \
            says that it works on devices and not in the Simulator (UNVERIFIED). \
            \(ReviewReason.sentence(for: ATSKey.arbitraryLoadsForMedia))
            """,
        citation: .apple(ATSKey.arbitraryLoadsForMedia, read: "2026-11-21"),
        firstOS: SystemChange.globalKeys.list,
        fires: Example(ats: "<key>NSAllowsArbitraryLoadsForMedia</key>\n<true/>"),
        passes: Example(ats: "<key>NSAllowsArbitraryLoadsForMedia</key>\n<false/>"),
        notApplicable: Example(ats: "<key>NSAllowsLocalNetworking</key>\n<true/>"),
        check: .plist { facts, hits in
            let permits = facts.permits(.media)
            guard let member = facts.global(ATSKey.arbitraryLoadsForMedia), facts.flag(member.key) == true,
                facts.systems.someSupported(permits)
            else { return }
            hits.report(
                member, facts.path(member.key),
                "\(member.key) = true switches ATS off for media loaded by AVFoundation. App Review asks why.",
                fix: "Serve the media over HTTPS, or give their hosts an exception.", trigger: member.key)
        }
    )
}
