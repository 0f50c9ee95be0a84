// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import PropertyLists
import TLSModel
import Vocabulary

extension RuleCatalog {
    static let ats041 = Rule(
        id: "ATS041",
        severity: .note,
        summary: "An exception for TLS 1.0 or 1.1 stops working with the app's next SDK.",
        reason: """
            On iOS 26 and macOS 26 and later, apps that are linked on 26 or later speak at least TLS 1.2, whatever the dictionary says. This app is linked \
            on an older SDK, or does not name one. App Store Connect asks for a recent SDK once a year. ATS046 reports the exception once it has no effect.
            """,
        citation: .stackMinimum,
        firstOS: SystemChange.stackMinimum.list,
        fires: .domain("<key>NSExceptionMinimumTLSVersion</key><string>TLSv1.1</string>"),
        passes: .domain("<key>NSExceptionMinimumTLSVersion</key><string>TLSv1.3</string>"),
        notApplicable: Example(ats: "<key>NSAllowsArbitraryLoads</key>\n<true/>"),
        check: .plist { facts, hits in
            guard let first = LinkedSDK.stackMinimum, facts.subject.sdk.map({ $0 < first }) ?? true else { return }
            for entry in facts.exceptions {
                guard let (member, version) = entry.minimumVersion, version < .tls12,
                    let effects = entry.effects,
                    facts.systems.someSupported(effects.secure { $0.minimum <= version.version })
                else { continue }
                hits.report(
                    member, entry.path(member.key),
                    "As soon as the app is linked on SDK \(first) or later\(facts.subject.sdk.map { " (today it is \($0))" } ?? ""), this exception has no effect on iOS 26, macOS 26 and later: they do not speak \(version.rawValue) then.",
                    fix: "Enable TLS 1.2 or 1.3 on the server before the app is built with SDK \(first).")
            }
        }
    )
}
