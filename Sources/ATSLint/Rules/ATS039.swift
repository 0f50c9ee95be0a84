// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import Findings
import PropertyLists

extension RuleCatalog {
    static let ats039 = Rule(
        "ATS039",
        .warning,
        "A key is newer than the oldest system that the app runs on.",
        reason: """
            Systems before \(SystemChange.globalKeys.names) read neither NSAllowsArbitraryLoadsForMedia, NSAllowsArbitraryLoadsInWebContent nor NSAllowsLocalNetworking; \
            NSPinnedDomains is read from \(SystemChange.pins.names) on. Older systems ignore the key: loads fail there, or nothing is pinned.
            """,
        citation: .apple(ATSKey.dictionary, read: "2026-11-21"),
        firstOS: SystemChange.globalKeys.list + ", " + SystemChange.pins.list,
        fires: .pins(
            "<dict><key>NSPinnedCAIdentities</key><array><dict><key>SPKI-SHA256-BASE64</key>"
                + "<string>r/mIkG3eEpVdm+u/ko/cwxzOMo1bk4TyHIlByibiA5E=</string></dict></array></dict>",
            root: "<key>MinimumOSVersion</key>\n<string>13.0</string>"),
        passes: .pins(
            "<dict><key>NSPinnedCAIdentities</key><array><dict><key>SPKI-SHA256-BASE64</key>"
                + "<string>r/mIkG3eEpVdm+u/ko/cwxzOMo1bk4TyHIlByibiA5E=</string></dict></array></dict>",
            root: "<key>MinimumOSVersion</key>\n<string>14.0</string>"),
        notApplicable: Example(
            "<key>NSAllowsArbitraryLoads</key>\n<false/>", root: "<key>MinimumOSVersion</key>\n<string>9.0</string>"),
        check: .plist { facts, hits in
            guard let minimum = facts.subject.minimumOS else { return }
            if facts.reachesIOS9 {
                for member in facts.members
                where ATSDictionary.overridingKeys.contains(member.key) && AppleBoolean.read(member.node) == true
                    && facts.flag(ATSKey.arbitraryLoads) != true
                {
                    hits.report(
                        member, facts.path(member.key),
                        "\(member.key) is not read before \(SystemChange.globalKeys.names); the app supports \(minimum.name) and later, and such loads are blocked there.",
                        fix: "Raise the minimum system, or expect blocked loads there.")
                }
            }
            if minimum.isBefore(.pins), let member = facts.pinsMember {
                hits.report(
                    member, facts.path(member.key),
                    "NSPinnedDomains is not read before \(SystemChange.pins.names); the app supports \(minimum.name) and later, and nothing is pinned there.",
                    fix: "Raise the minimum system, or pin in code there.")
            }
        }
    )
}
