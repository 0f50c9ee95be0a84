// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

extension RuleCatalog {
    static let ats051 = Rule.weakening(
        "ATS051", "The minimum TLS version is lower than before.",
        reason: "A comparison with an earlier Info.plist found hosts that may now speak an older version of TLS.",
        fires: .gained("<key>NSExceptionMinimumTLSVersion</key><string>TLSv1.0</string>"))
}
