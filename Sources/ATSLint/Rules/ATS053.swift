// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import Findings

extension RuleCatalog {
    static let ats053 = Rule(
        "ATS053",
        .error,
        "Certificates are judged less strictly than before.",
        reason:
            "A comparison with an earlier list found hosts whose certificates no longer meet the rules of ATS, or may now be accepted by code of the app.",
        citation: .apple("Preventing Insecure Network Connections", read: "2026-11-21"),
        fires: Example(
            "<key>NSExceptionDomains</key>\n<dict>\n<key>api.example.com</key>\n<dict><key>NSExceptionAllowsInsecureHTTPLoads</key><true/></dict>\n</dict>",
            before: ""
        ),
        passes: Example(
            "<key>NSExceptionDomains</key>\n<dict>\n<key>api.example.com</key>\n<dict><key>NSExceptionMinimumTLSVersion</key><string>TLSv1.3</string></dict>\n</dict>",
            before: ""
        ),
        notApplicable: Example(
            "<key>NSAllowsLocalNetworking</key>\n<true/>",
            before: "<key>NSAllowsLocalNetworking</key>\n<true/>"
        ),
        check: .difference
    )
}
