// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import Vocabulary

extension RuleCatalog {
    static let ats045 = Rule(
        id: "ATS045",
        severity: .warning,
        summary: "A framework or resource bundle has an ATS dictionary, which is never read.",
        reason:
            "Only the Info.plist of the process counts: that of the app or of its extension. A framework cannot loosen or tighten the rules of the app that embeds it.",
        citation: .apple(ATSKey.dictionary, read: "2026-11-21"),
        fires: Example(
            ats: "<key>NSAllowsLocalNetworking</key>\n<true/>",
            root: "<key>CFBundlePackageType</key>\n<string>FMWK</string>"
        ),
        passes: Example(ats: nil, root: "<key>CFBundlePackageType</key>\n<string>FMWK</string>"),
        notApplicable: Example(
            ats: "<key>NSAllowsLocalNetworking</key>\n<true/>",
            root: "<key>CFBundlePackageType</key>\n<string>APPL</string>"
        ),
        check: .plist { facts, hits in
            guard let ats = facts.ats, facts.subject.role == .framework else { return }
            hits.report(
                ats, PlistFacts.atsPath,
                "This is the Info.plist of a framework or bundle. Its NSAppTransportSecurity is never read: the app that embeds it decides.",
                fix: "Move the dictionary into the Info.plist of the app.")
        }
    )
}
