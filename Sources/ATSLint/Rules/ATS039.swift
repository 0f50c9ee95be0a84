// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import PropertyLists
import Vocabulary

extension RuleCatalog {
    static let ats039 = Rule(
        id: "ATS039",
        severity: .warning,
        summary: "A key is newer than the oldest system that the app runs on.",
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
            ats: "<key>NSAllowsArbitraryLoads</key>\n<false/>",
            root: "<key>MinimumOSVersion</key>\n<string>9.0</string>"),
        check: .plist { facts, hits in
            guard let minimum = facts.subject.minimumOS else { return }
            for (key, loader, host) in [
                (ATSKey.localNetworking, Loader.urlsession, "printer.local"),
                (ATSKey.arbitraryLoadsForMedia, .media, PlistFacts.anyHost),
                (ATSKey.arbitraryLoadsInWebContent, .web, PlistFacts.anyHost),
            ] {
                guard let member = facts.global(key), facts.flag(key) == true else { continue }
                let blocked = zip(facts.systems.profiles, facts.general(host, loader)).map {
                    $0.facts.obeysOnlyArbitraryLoads.value && !$1.isPermitted
                }
                guard facts.systems.someSupported(blocked) else { continue }
                hits.report(
                    member, facts.path(member.key),
                    "\(member.key) is not read before \(SystemChange.globalKeys.names); the app supports \(minimum.name) and later, and such loads are blocked there. Two of Apple's documents of 2016 write NSAllowsArbitraryLoads = true beside the key for such an app: only those systems obey it.",
                    fix:
                        "Add NSAllowsArbitraryLoads = true, which only those systems obey beside this key, or raise the minimum system."
                )
            }
            let pinned = facts.systems.profiles.map(\.facts.readsPins.value)
            if !facts.systems.allSupported(pinned), let member = facts.pinsMember {
                hits.report(
                    member, facts.path(member.key),
                    "NSPinnedDomains is not read before \(SystemChange.pins.names); the app supports \(minimum.name) and later, and nothing is pinned there.",
                    fix: "Raise the minimum system, or pin in code there.")
            }
        }
    )
}
