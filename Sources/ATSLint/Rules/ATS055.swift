// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import PropertyLists
import Vocabulary

extension RuleCatalog {
    static let ats055 = Rule(
        id: "ATS055",
        severity: .error,
        summary: "A build setting INFOPLIST_KEY_... cannot set NSAppTransportSecurity.",
        reason:
            "With GENERATE_INFOPLIST_FILE Xcode writes a fixed list of keys from INFOPLIST_KEY_ settings, and no dictionary is among them. A setting for any other key is ignored without a word, so the app has no dictionary.",
        citation: .apple("Build settings reference: INFOPLIST_KEY_, Generate Info.plist File", read: "2026-11-26"),
        fires: Example(
            ats: nil,
            root: "<key>INFOPLIST_KEY_NSAppTransportSecurity_NSAllowsArbitraryLoads</key>\n<string>YES</string>"),
        passes: Example(ats: "<key>NSAllowsLocalNetworking</key>\n<true/>"),
        notApplicable: Example(ats: nil, root: "<key>INFOPLIST_KEY_CFBundleDisplayName</key>\n<string>Shop</string>"),
        check: .plist { facts, hits in
            for member in facts.subject.document.root.members ?? [] where XcodeSettings.isMeant(member.key) {
                hits.report(
                    member, [member.key],
                    "The build setting \(member.key.prefix(bytes: 120)) has no effect: Xcode generates only a fixed list of keys from INFOPLIST_KEY_ settings, and NSAppTransportSecurity is not one of them.",
                    fix:
                        "Remove the setting, add an Info.plist that has only NSAppTransportSecurity, and name it in INFOPLIST_FILE; GENERATE_INFOPLIST_FILE = YES can stay, because Xcode merges both."
                )
            }
        }
    )
}
