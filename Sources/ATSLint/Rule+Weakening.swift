// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Vocabulary

extension Rule {
    /// A rule of the comparison with an earlier list.
    static func weakening(
        _ id: String, _ summary: String, reason: String, fires: Example,
        passes: Example = .gained("<key>NSExceptionMinimumTLSVersion</key><string>TLSv1.3</string>")
    ) -> Rule {
        let unchanged = "<key>NSAllowsLocalNetworking</key>\n<true/>"
        return Rule(
            id: id, severity: .error, summary: summary, reason: reason,
            citation: .apple("Preventing Insecure Network Connections", read: "2026-11-21"), fires: fires,
            passes: passes, notApplicable: Example(ats: unchanged, before: unchanged), check: .difference)
    }
}

extension Example {
    /// A list that gained an exception for a host with these sub-keys.
    static func gained(_ keys: String) -> Example {
        Example(
            ats: "<key>NSExceptionDomains</key>\n<dict>\n<key>api.example.com</key>\n<dict>\(keys)</dict>\n</dict>",
            before: "")
    }
}
