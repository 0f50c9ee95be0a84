// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

extension RuleCatalog {
    static let ats052 = Rule.weakening(
        "ATS052", "Weaker cipher suites are newly allowed.",
        reason:
            "A comparison with an earlier Info.plist found hosts that may now use suites without forward secrecy, or any suite of the system.",
        fires: .gained("<key>NSExceptionRequiresForwardSecrecy</key><false/>"))
}
