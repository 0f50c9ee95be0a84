// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import Vocabulary

extension RuleCatalog {
    static let ats028 = Rule(
        id: "ATS028",
        severity: .warning,
        summary: "An exception covers a whole public suffix.",
        reason: "A key such as com or co.uk with NSIncludesSubdomains covers the hosts of countless unrelated owners.",
        citation: .apple(ATSKey.includesSubdomains, read: "2026-11-21"),
        fires: .domain(
            "<key>NSIncludesSubdomains</key><true/><key>NSExceptionRequiresForwardSecrecy</key><false/>", host: "co.uk"),
        passes: .domain(
            "<key>NSIncludesSubdomains</key><true/><key>NSExceptionRequiresForwardSecrecy</key><false/>",
            host: "example.co.uk"),
        notApplicable: .domain("<key>NSExceptionRequiresForwardSecrecy</key><false/>", host: "co.uk"),
        check: .plist { facts, hits in
            for entry in facts.exceptions where entry.host.kind == .name && entry.includesSubdomains {
                guard entry.host.isTopLevel || SharedSuffixes.all.contains(entry.host.labels.joined(separator: ".")),
                    let effects = entry.effects, facts.systems.someSupported(effects.decidesBelow)
                else { continue }
                hits.report(
                    entry.member, entry.path,
                    "'\(entry.key)' with NSIncludesSubdomains covers every host under a suffix in which anyone can register names.",
                    fix: "Name the hosts that the app loads from.")
            }
        }
    )
}
