// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import PropertyLists
import Vocabulary

extension RuleCatalog {
    static let ats043 = Rule(
        id: "ATS043",
        severity: .note,
        summary: "The app's HttpClient does not go through ATS.",
        reason: """
            A .NET app with the managed HttpClient handler speaks TLS by itself: the dictionary has no effect on its requests. \
            It still applies to web views, media and everything else that the system loads.
            """,
        citation: Citation(
            source: "Microsoft Learn: HttpClient stack and SSL/TLS implementation selector for iOS and macOS",
            read: "2026-11-21"),
        fires: Example(ats: "<key>NSAllowsLocalNetworking</key>\n<true/>", handler: .managed),
        passes: Example(ats: "<key>NSAllowsLocalNetworking</key>\n<true/>", handler: .nsurlsession),
        notApplicable: Example(ats: "<key>NSAllowsLocalNetworking</key>\n<true/>"),
        check: .plist { facts, hits in
            guard let stack = facts.subject.networkStack, !stack.atsApplies else { return }
            hits.report(
                facts.subject.document.root, PlistFacts.atsPath,
                "The project uses the managed HttpClient handler (\(stack.source)), which is outside ATS: the dictionary has no effect on HttpClient, only on what the system itself loads.",
                fix: "Use the native handler (NSUrlSessionHandler) if ATS should protect these requests.")
        }
    )
}
