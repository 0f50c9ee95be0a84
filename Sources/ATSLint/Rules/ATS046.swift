// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import PropertyLists
import TLSModel
import Vocabulary

extension RuleCatalog {
    static let ats046 = Rule(
        id: "ATS046",
        severity: .error,
        summary: "An exception for TLS 1.0 or 1.1 has no effect in an app that is linked on 26 or later.",
        reason: """
            On iOS 26 and macOS 26 and later, URLSession of apps that are linked on 26 or later speaks at least TLS 1.2. ATS accepts the exception, but \
            the network stack does not: the load fails with -1200 (stream code -9836). Only the server can change that, or code of the app that sets \
            tlsMinimumSupportedProtocolVersion. On older systems the exception still works.
            """,
        citation: .stackMinimum,
        firstOS: SystemChange.stackMinimum.list,
        fires: .domain(
            "<key>NSExceptionMinimumTLSVersion</key><string>TLSv1.0</string>",
            root: "<key>DTSDKName</key>\n<string>iphoneos26.0</string>"),
        passes: .domain(
            "<key>NSExceptionRequiresForwardSecrecy</key><false/>",
            root: "<key>DTSDKName</key>\n<string>iphoneos26.0</string>"),
        notApplicable: .domain(
            "<key>NSExceptionMinimumTLSVersion</key><string>TLSv1.0</string>",
            root: "<key>DTSDKName</key>\n<string>iphoneos18.5</string>"),
        check: .plist { facts, hits in
            for entry in facts.exceptions {
                guard let (member, version) = entry.minimumVersion, version < .tls12, let effects = entry.effects
                else { continue }
                let limited = zip(facts.systems.profiles, effects.secure { $0.minimum > version.version }).map {
                    $1 && $0.stackMinimum.value > version.version
                }
                let speaks = effects.secure { $0.minimum <= version.version }
                let isDead = !facts.systems.someSupported(speaks)
                // Without a known SDK ATS041 speaks of the next one.
                guard facts.systems.someSupported(limited), facts.subject.sdk != nil || isDead else { continue }
                let app =
                    facts.subject.sdk.map { "The app is linked on SDK \($0), so" }
                    ?? "In an app that is linked on 26 or later"
                let older = isDead ? "" : " It still works\(facts.systems.words(speaks) ?? "")."
                hits.report(
                    member, entry.path(member.key),
                    "\(app) this exception has no effect\(facts.systems.words(limited) ?? ""): ATS accepts \(version.rawValue) for \(entry.key), but the network stack does not speak it.\(older)",
                    fix:
                        "Enable TLS 1.2 or 1.3 on the server and remove the key, or set tlsMinimumSupportedProtocolVersion in the app's code.",
                    severity: isDead && facts.subject.sdk != nil ? nil : .warning,
                    advice: isDead ? [Advice([.remove(member)], .sameLoads)] : [])
            }
        }
    )
}
