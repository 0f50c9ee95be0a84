// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import Vocabulary

extension RuleCatalog {
    static let ats054 = Rule(
        "ATS054", .error, "A host is pinned less strictly than before.",
        reason:
            "A comparison with an earlier Info.plist found hosts whose pins were removed, or to which new keys were added.",
        citation: .apple("Preventing Insecure Network Connections", read: "2026-11-21"),
        fires: Example(
            "",
            before:
                "<key>NSPinnedDomains</key>\n<dict>\n<key>api.example.com</key>\n<dict><key>NSPinnedCAIdentities</key><array><dict><key>SPKI-SHA256-BASE64</key><string>r/mIkG3eEpVdm+u/ko/cwxzOMo1bk4TyHIlByibiA5E=</string></dict></array></dict>\n</dict>"
        ),
        passes: Example(
            "<key>NSPinnedDomains</key>\n<dict>\n<key>api.example.com</key>\n<dict><key>NSPinnedCAIdentities</key><array><dict><key>SPKI-SHA256-BASE64</key><string>r/mIkG3eEpVdm+u/ko/cwxzOMo1bk4TyHIlByibiA5E=</string></dict></array></dict>\n</dict>",
            before: ""),
        notApplicable: Example(
            "<key>NSAllowsLocalNetworking</key>\n<true/>", before: "<key>NSAllowsLocalNetworking</key>\n<true/>"),
        check: .difference)
}
