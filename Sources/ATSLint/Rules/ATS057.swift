// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import PropertyLists
import Vocabulary

extension RuleCatalog {
    static let ats057 = Rule(
        id: "ATS057",
        severity: .warning,
        summary: "The CFNetwork handler of .NET does not exist on watchOS.",
        reason:
            "CFNetworkHandler is built on classes that watchOS does not have. A watch app uses NSUrlSessionHandler, for which App Transport Security applies, or the managed handler, for which it does not.",
        citation: Citation(
            source: "The handlers of .NET as a document of 2016 describes them (docs/dotnet.md)",
            read: "2026-11-26"),
        fires: Example(
            ats: "<key>NSAllowsLocalNetworking</key>\n<true/>", root: "<key>WKApplication</key>\n<true/>",
            handler: .cfnetwork),
        passes: Example(
            ats: "<key>NSAllowsLocalNetworking</key>\n<true/>", root: "<key>WKApplication</key>\n<true/>",
            handler: .nsurlsession),
        notApplicable: Example(ats: "<key>NSAllowsLocalNetworking</key>\n<true/>", handler: .cfnetwork),
        check: .plist { facts, hits in
            guard let stack = facts.subject.networkStack, stack.handler == .cfnetwork,
                facts.subject.role == .watchApp
            else { return }
            hits.report(
                facts.subject.document.root, PlistFacts.atsPath,
                "The project of this watch app chooses the CFNetwork handler (\(stack.source)), which watchOS does not have.",
                fix: "Choose NSUrlSessionHandler in \(stack.source).")
        }
    )
}
