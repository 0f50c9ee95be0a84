// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Vocabulary

extension Rule {
    /// A rule of the comparison with an earlier list, about one sub-key of an exception for a host.
    static func weakening(_ id: String, _ summary: String, reason: String, fires: String) -> Rule {
        Rule(
            id, .error, summary, reason: reason,
            citation: .apple("Preventing Insecure Network Connections", read: "2026-11-21"), fires: exception(fires),
            passes: exception("<key>NSExceptionMinimumTLSVersion</key><string>TLSv1.3</string>"),
            notApplicable: Example(
                "<key>NSAllowsLocalNetworking</key>\n<true/>", before: "<key>NSAllowsLocalNetworking</key>\n<true/>"),
            check: .difference)
    }

    /// A list that gained an exception with these sub-keys.
    private static func exception(_ keys: String) -> Example {
        Example(
            "<key>NSExceptionDomains</key>\n<dict>\n<key>api.example.com</key>\n<dict>\(keys)</dict>\n</dict>",
            before: "")
    }
}
