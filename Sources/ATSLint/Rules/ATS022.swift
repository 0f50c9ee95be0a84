// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import Findings

extension RuleCatalog {
    static let ats022 = Rule(
        "ATS022",
        .note,
        "NSIncludesSubdomains reaches further, or less far, than it seems.",
        reason: """
            The documentation says that one more label is covered. Apple's published evaluator covers any depth, and takes the nearest parent that has the key. \
            For addresses and ranges it has no effect. Without it, only the name itself is covered: not www.
            """,
        citation: .security("protocol/SecProtocolConfiguration.m (search for an exception)"),
        fires: .domain(
            "<key>NSIncludesSubdomains</key><true/><key>NSExceptionMinimumTLSVersion</key><string>TLSv1.3</string>",
            host: "example.com"
        ),
        passes: .domain("<key>NSExceptionMinimumTLSVersion</key><string>TLSv1.3</string>"),
        notApplicable: Example("<key>NSAllowsLocalNetworking</key>\n<true/>"),
        check: .plist { facts, hits in
            for entry in facts.exceptions where !entry.host.isDead {
                if let member = entry.sub("NSIncludesSubdomains"), AppleBoolean.read(member.node) == true {
                    if entry.host.isAddress {
                        hits.report(
                            member,
                            entry.path(member.key),
                            "NSIncludesSubdomains has no effect on '\(entry.key)', which is an address or a range.",
                            fix: "Remove it."
                        )
                    } else {
                        hits.report(
                            member,
                            entry.path(member.key),
                            "The entry covers subdomains of \(entry.key) of any depth by Apple's published evaluator, and only one label more by the documentation.",
                            fix: "List deeper hosts on their own if they must not, or must surely, be covered."
                        )
                    }
                } else if entry.allowsInsecureLoads, entry.sub("NSIncludesSubdomains") == nil,
                    entry.host.labels.count == 2,
                    !entry.host.isAddress, !entry.host.isLocal,
                    !facts.exceptions.contains(where: { $0.key != entry.key && $0.key.hasSuffix("." + entry.key) })
                {
                    hits.report(
                        entry.member,
                        entry.path,
                        "The exception covers \(entry.key) alone: www.\(entry.key) and other subdomains keep full ATS.",
                        fix:
                            "Say NSIncludesSubdomains = false if that is meant, or list the hosts that the app loads from."
                    )
                }
            }
        }
    )
}
