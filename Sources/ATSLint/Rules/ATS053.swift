// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

extension RuleCatalog {
    static let ats053 = Rule.weakening(
        "ATS053", "Certificates are judged less strictly than before.",
        reason:
            "A comparison with an earlier Info.plist found hosts whose certificates no longer meet the rules of ATS, may now be accepted by the app's code, or need fewer timestamps of Certificate Transparency.",
        fires: .gained("<key>NSExceptionAllowsInsecureHTTPLoads</key><true/>"))
}
