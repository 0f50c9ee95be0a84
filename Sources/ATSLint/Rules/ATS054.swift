// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

extension RuleCatalog {
    static let ats054 = Rule.weakening(
        "ATS054", "A host is pinned less strictly than before.",
        reason:
            "A comparison with an earlier Info.plist found hosts whose pins were removed, or to which new keys were added.",
        fires: Example(ats: "", before: pinned), passes: Example(ats: pinned, before: ""))

    private static let pinned =
        "<key>NSPinnedDomains</key>\n<dict>\n<key>api.example.com</key>\n<dict><key>NSPinnedCAIdentities</key><array><dict><key>SPKI-SHA256-BASE64</key><string>r/mIkG3eEpVdm+u/ko/cwxzOMo1bk4TyHIlByibiA5E=</string></dict></array></dict>\n</dict>"
}
