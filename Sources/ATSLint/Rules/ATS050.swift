// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

extension RuleCatalog {
    static let ats050 = Rule.weakening(
        "ATS050", "Plain HTTP is newly allowed.",
        reason: "A comparison with an earlier Info.plist found hosts for which http:// was blocked and no longer is.",
        fires: Example(ats: "<key>NSAllowsArbitraryLoads</key>\n<true/>", before: ""),
        passes: Example(ats: "", before: "<key>NSAllowsArbitraryLoads</key>\n<true/>"))
}
