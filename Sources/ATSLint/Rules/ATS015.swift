// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import Findings
import PropertyLists

extension RuleCatalog {
    static let ats015 = Rule(
        "ATS015",
        .warning,
        "NSExceptionAllowsInsecureHTTPLoads needs a justification for App Review.",
        reason: """
            Plain HTTP to the host is allowed, and the app's own code may accept a certificate that the system refuses. \
            App Review asks why the server cannot do better. \
            \(ReviewReason.sentence(for: ATSKey.insecureHTTPLoads))
            """,
        citation: .apple(ATSKey.insecureHTTPLoads, read: "2026-11-21"),
        fires: .domain("<key>NSExceptionAllowsInsecureHTTPLoads</key><true/>"),
        passes: .domain("<key>NSExceptionAllowsInsecureHTTPLoads</key><false/>"),
        notApplicable: .domain("<key>NSExceptionRequiresForwardSecrecy</key><false/>"),
        check: .plist { facts, hits in
            for entry in facts.exceptions where entry.allowsInsecureLoads {
                guard let member = entry.sub(ATSKey.insecureHTTPLoads) else { continue }
                hits.report(
                    member, entry.path(member.key),
                    entry.host.isDead
                        ? "Plain HTTP to \(entry.key) is not allowed, because the key never matches; App Review asks about it anyway."
                        : "Plain HTTP to \(entry.key)\(entry.includesSubdomains ? " and its subdomains" : "") is allowed. App Review asks why.",
                    fix:
                        "Serve \(entry.key) over HTTPS and remove the key; 'sealward ats check' says whether the server is ready.",
                    trigger: member.key)
            }
        }
    )
}
