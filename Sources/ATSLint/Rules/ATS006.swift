// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import Vocabulary

extension RuleCatalog {
    static let ats006 = Rule(
        id: "ATS006",
        severity: .error,
        summary: "A domain key has a wildcard.",
        reason: "No key with an asterisk ever matches. Subdomains are covered with NSIncludesSubdomains instead.",
        citation: .apple(ATSKey.includesSubdomains, read: "2026-11-21"),
        fires: .domain("<key>NSExceptionMinimumTLSVersion</key><string>TLSv1.3</string>", host: "*.example.com"),
        passes: .domain(
            "<key>NSIncludesSubdomains</key><true/><key>NSExceptionMinimumTLSVersion</key><string>TLSv1.3</string>",
            host: "example.com"),
        notApplicable: .domain("<key>NSExceptionMinimumTLSVersion</key><string>TLSv1.3</string>", host: "example.com"),
        check: .plist { facts, hits in HostKeyFault.report("ATS006", facts, &hits) }
    )
}
