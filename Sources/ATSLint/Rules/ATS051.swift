// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import Findings

extension RuleCatalog {
    static let ats051 = Rule(
        "ATS051",
        .error,
        "The minimum of TLS is lower than before.",
        reason: "A comparison with an earlier list found hosts that may now speak an older version of TLS.",
        citation: .apple("Preventing Insecure Network Connections", read: "2026-11-21"),
        fires: Example(
            "<key>NSExceptionDomains</key>\n<dict>\n<key>api.example.com</key>\n<dict><key>NSExceptionMinimumTLSVersion</key><string>TLSv1.0</string></dict>\n</dict>",
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
