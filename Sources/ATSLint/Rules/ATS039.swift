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
            iOS 9 and macOS 10.11 read neither NSAllowsArbitraryLoadsForMedia, NSAllowsArbitraryLoadsInWebContent nor NSAllowsLocalNetworking; \
            NSPinnedDomains is read from iOS 14 and macOS 11 on. Older systems ignore the key: loads fail there, or nothing is pinned.
            """,
        citation: .apple(ATSKey.dictionary, read: "2026-11-21"),
        firstOS: "iOS 10, iOS 14, macOS 10.12, macOS 11",
        fires: .pins(
            "<dict><key>NSPinnedCAIdentities</key><array><dict><key>SPKI-SHA256-BASE64</key>"
                + "<string>r/mIkG3eEpVdm+u/ko/cwxzOMo1bk4TyHIlByibiA5E=</string></dict></array></dict>",
            root: "<key>MinimumOSVersion</key>\n<string>13.0</string>"
        ),
        passes: .pins(
            "<dict><key>NSPinnedCAIdentities</key><array><dict><key>SPKI-SHA256-BASE64</key>"
                + "<string>r/mIkG3eEpVdm+u/ko/cwxzOMo1bk4TyHIlByibiA5E=</string></dict></array></dict>",
            root: "<key>MinimumOSVersion</key>\n<string>14.0</string>"
        ),
        notApplicable: Example(
            "<key>NSAllowsArbitraryLoads</key>\n<false/>",
            root: "<key>MinimumOSVersion</key>\n<string>9.0</string>"
        ),
        check: .plist { facts, hits in
            guard let minimum = facts.subject.minimumOS else { return }
            if facts.reachesIOS9 {
                for member in facts.members
                where GlobalKeys.overridingArbitraryLoads.contains(member.key) && AppleBoolean.read(member.node) == true
                    && facts.flag(ATSKey.arbitraryLoads) != true
                {
                    hits.report(
                        member,
                        facts.path(member.key),
                        "\(member.key) is not read before iOS 10 and macOS 10.12; the app supports \(minimum.name) and later, and such loads are blocked there.",
                        fix: "Raise the minimum system, or expect blocked loads there."
                    )
                }
            }
            if minimum.isBefore(ios: (14, 0), macos: (11, 0)), let member = facts.pinsMember {
                hits.report(
                    member,
                    facts.path(member.key),
                    "NSPinnedDomains is not read before iOS 14 and macOS 11; the app supports \(minimum.name) and later, and nothing is pinned there.",
                    fix: "Raise the minimum system, or pin in code there."
                )
            }
        }
    )
}
