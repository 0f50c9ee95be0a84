// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import PropertyLists
import Vocabulary

extension RuleCatalog {
    static let ats022 = Rule(
        id: "ATS022",
        severity: .note,
        summary: "NSIncludesSubdomains may cover more or fewer hosts than intended.",
        reason: """
            The documentation says that one more label is covered. Apple's published evaluator covers any depth, and uses the nearest parent that has the key. \
            For addresses and ranges it has no effect. Without it, only the name itself is covered: not www.
            """,
        citation: .security("protocol/SecProtocolConfiguration.m (search for an exception)"),
        fires: .domain(
            "<key>NSIncludesSubdomains</key><true/><key>NSExceptionMinimumTLSVersion</key><string>TLSv1.3</string>",
            host: "example.com"),
        passes: .domain("<key>NSExceptionMinimumTLSVersion</key><string>TLSv1.3</string>"),
        notApplicable: Example(ats: "<key>NSAllowsLocalNetworking</key>\n<true/>"),
        check: .plist { facts, hits in
            for entry in facts.exceptions {
                guard let effects = entry.effects else { continue }
                if entry.includesSubdomains, let member = entry.sub(ATSKey.includesSubdomains) {
                    if entry.host.isAddress {
                        hits.report(
                            member, entry.path(member.key),
                            "NSIncludesSubdomains has no effect on '\(entry.key)', which is an address or a range.",
                            fix: "Remove it.", advice: [Advice([.remove(member)], .sameLoads)])
                    } else if facts.systems.someSupported(effects.decidesBelow) {
                        hits.report(
                            member, entry.path(member.key),
                            "The entry covers subdomains of \(entry.key) at any depth according to Apple's published evaluator, but only one label more according to the documentation.",
                            fix: "List deeper hosts separately if they must, or must not, be covered.")
                    }
                } else if entry.allowsInsecureLoads, entry.sub(ATSKey.includesSubdomains) == nil,
                    entry.host.kind == .name, entry.host.labelCount == 2,
                    let www = EntryEffects.Load(host: "www." + entry.key),
                    facts.systems.allSupported(
                        zip(effects.permitsPlain, facts.scopes.about([www.plain]).effects(www.plain)).map {
                            $0 && !$1.isPermitted
                        })
                {
                    hits.report(
                        entry.member, entry.path,
                        "The exception covers only \(entry.key): plain HTTP to www.\(entry.key) is blocked.",
                        fix:
                            "Set NSIncludesSubdomains = false if that is intended, or list the hosts that the app loads from."
                    )
                }
            }
        }
    )
}
