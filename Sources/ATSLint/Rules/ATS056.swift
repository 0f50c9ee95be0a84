// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import PropertyLists
import Vocabulary

extension RuleCatalog {
    static let ats056 = Rule(
        id: "ATS056",
        severity: .note,
        summary: "An app that loads from the local network does not say why.",
        reason: """
            Since iOS 14 the system asks the user before an app reaches the local network, and shows NSLocalNetworkUsageDescription. If access is denied, loads fail with \
            -1009 ("Local network prohibited"), which no key of App Transport Security changes. localhost is not the local network.
            """,
        citation: .apple("TN3179: Understanding local network privacy", read: "2026-11-26"),
        firstOS: "iOS 14",
        fires: .domain(
            "<key>NSExceptionAllowsInsecureHTTPLoads</key><true/>", host: "printer.local",
            root: "<key>CFBundleIdentifier</key>\n<string>com.example.app</string>"),
        passes: .domain(
            "<key>NSExceptionAllowsInsecureHTTPLoads</key><true/>", host: "printer.local",
            root:
                "<key>CFBundleIdentifier</key>\n<string>com.example.app</string>\n<key>NSLocalNetworkUsageDescription</key>\n<string>Finds your printer.</string>"
        ),
        notApplicable: .domain(
            "<key>NSExceptionAllowsInsecureHTTPLoads</key><true/>", host: "localhost",
            root: "<key>CFBundleIdentifier</key>\n<string>com.example.app</string>"),
        check: .plist { facts, hits in
            let root = facts.subject.document.root
            // A part of a list does not say what the whole lacks, and of an app's processes only the app can ask.
            guard root["CFBundleIdentifier"] != nil, root["NSLocalNetworkUsageDescription"] == nil,
                facts.subject.minimumOS?.line != .macos, root["LSMinimumSystemVersion"] == nil,
                [.app, .appClip, .unknown].contains(facts.subject.role)
            else { return }
            // One of them, whatever their order. NSAllowsLocalNetworking alone names no host, and is often there for localhost.
            let entries = facts.exceptions.filter {
                $0.host.isLocal && !isLoopback($0.key.lowercased()) && $0.allowsInsecureLoads
                    && $0.fault == nil && !BuildVariable.isIn($0.key)
                    && !($0.host.isTopLevel && $0.includesSubdomains)
            }
            guard let entry = entries.min(by: { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }) else { return }
            hits.report(
                entry.member, entry.path,
                "\(entry.key) is on the local network, which the system lets an app reach only with the user's consent since iOS 14, and there is no NSLocalNetworkUsageDescription. Without consent such loads fail with -1009, whatever this dictionary says.",
                fix: "Add NSLocalNetworkUsageDescription with what the app does there.")
        }
    )

    private static func isLoopback(_ host: String) -> Bool {
        host == "localhost" || host.hasSuffix(".localhost") || host.hasPrefix("127.") || host.hasPrefix("::1")
    }
}
