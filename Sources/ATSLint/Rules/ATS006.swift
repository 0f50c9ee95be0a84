// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import Findings

extension RuleCatalog {
    static let ats006 = Rule(
        "ATS006",
        .error,
        "A domain key has a wildcard.",
        reason: "No key with an asterisk ever matches. Subdomains are covered with NSIncludesSubdomains instead.",
        citation: .apple(ATSKey.includesSubdomains, read: "2026-11-21"),
        fires: .domain("<key>NSExceptionMinimumTLSVersion</key><string>TLSv1.3</string>", host: "*.example.com"),
        passes: .domain(
            "<key>NSIncludesSubdomains</key><true/><key>NSExceptionMinimumTLSVersion</key><string>TLSv1.3</string>",
            host: "example.com"),
        notApplicable: .domain("<key>NSExceptionMinimumTLSVersion</key><string>TLSv1.3</string>", host: "example.com"),
        check: .plist { facts, hits in
            for entry in facts.allEntries where entry.host.kind == .name && entry.host.isWildcard {
                let parent = entry.host.bareHost.hasPrefix("*.") ? String(entry.host.bareHost.dropFirst(2)) : nil
                hits.report(
                    entry.member, entry.path,
                    "The key '\(entry.key)' has a wildcard. An asterisk never matches, so the entry is never read.",
                    fix: parent.map { "Write '\($0)' with NSIncludesSubdomains = true." }
                        ?? "Write each host, or a parent domain with NSIncludesSubdomains = true.")
            }
        }
    )
}
