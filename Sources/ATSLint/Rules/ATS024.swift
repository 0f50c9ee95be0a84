// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import PropertyLists
import Vocabulary

extension RuleCatalog {
    static let ats024 = Rule(
        id: "ATS024",
        severity: .warning,
        summary: "NSAllowsLocalNetworking = false blocks local hosts.",
        reason:
            "Local hosts are exempt by default; setting this key to false removes the exemption.",
        citation: .security("protocol/SecProtocolConfigurationTest.m (local networking disabled)"),
        firstOS: SystemChange.globalKeys.list,
        fires: Example(ats: "<key>NSAllowsLocalNetworking</key>\n<false/>"),
        passes: Example(ats: "<key>NSAllowsLocalNetworking</key>\n<true/>"),
        notApplicable: Example(ats: "<key>NSAllowsArbitraryLoads</key>\n<false/>"),
        check: .plist { facts, hits in
            guard let member = facts.global(ATSKey.localNetworking), facts.flag(member.key) == false else { return }
            let with = facts.general("printer.local")
            let without = facts.general("printer.local") { $0.localNetworking = nil }
            let blocks = zip(with, without).map { !$0.isPermitted && $1.isPermitted }
            guard facts.systems.someSupported(blocks) else { return }
            hits.report(
                member, facts.path(member.key),
                "NSAllowsLocalNetworking = false blocks plain HTTP to local hosts without an entry (names without a dot, .local names, local addresses)\(facts.systems.words(blocks) ?? ""); without the key they are exempt.",
                fix: "Remove the key, unless you mean to block them.",
                advice: [Advice([.remove(member)], .otherLoads)])
        }
    )
}
