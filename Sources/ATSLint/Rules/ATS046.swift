// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import Findings
import PropertyLists

extension RuleCatalog {
    static let ats046 = Rule(
        "ATS046",
        .warning,
        "An exception for TLS 1.0 or 1.1 has no effect in an app that is linked on 26 or later.",
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
            guard let first = LinkedSDK.stackMinimum, let sdk = facts.subject.sdk, sdk >= first else { return }
            let minimum = facts.subject.minimumOS
            let runsOnOlder = minimum?.isBefore(.stackMinimum) ?? true
            for entry in facts.exceptions {
                guard let (member, version) = entry.minimumVersion, version < .tls12 else { continue }
                let older =
                    runsOnOlder
                    ? " On \(minimum.map { "\($0.name) and other " } ?? "")older systems it still works." : ""
                hits.report(
                    member, entry.path(member.key),
                    "The app is linked on SDK \(sdk), so on iOS 26, macOS 26 and later this exception has no effect: ATS accepts \(version.rawValue) for \(entry.key), but the network stack does not speak it.\(older)",
                    fix:
                        "Enable TLS 1.2 or 1.3 on the server and remove the key, or set tlsMinimumSupportedProtocolVersion in the app's code."
                )
            }
        }
    )
}
