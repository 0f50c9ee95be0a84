// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import Vocabulary

extension RuleCatalog {
    static let ats050 = Rule(
        "ATS050", .error, "Plain HTTP is newly allowed.",
        reason: "A comparison with an earlier Info.plist found hosts for which http:// was blocked and no longer is.",
        citation: .apple("Preventing Insecure Network Connections", read: "2026-11-21"),
        fires: Example("<key>NSAllowsArbitraryLoads</key>\n<true/>", before: ""),
        passes: Example("", before: "<key>NSAllowsArbitraryLoads</key>\n<true/>"),
        notApplicable: Example(
            "<key>NSAllowsLocalNetworking</key>\n<true/>", before: "<key>NSAllowsLocalNetworking</key>\n<true/>"),
        check: .difference)
}
