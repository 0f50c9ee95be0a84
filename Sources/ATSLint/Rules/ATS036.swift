// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import PropertyLists
import Vocabulary

extension RuleCatalog {
    static let ats036 = Rule(
        id: "ATS036",
        severity: .warning,
        summary: "There is text after the end of the property list.",
        reason:
            "The parser of the system stops at the end of the first list and never reads the rest, which is often left over from a merge.",
        citation: Citation(source: "CoreFoundation: CFPropertyList.c (observed)", read: "2026-11-21"),
        fixDescription: "removes the text after the end",
        fires: Example(
            ats: "<key>NSAllowsLocalNetworking</key>\n<true/>",
            trailing: "<dict><key>NSAllowsArbitraryLoads</key><true/></dict>\n"),
        passes: Example(ats: "<key>NSAllowsLocalNetworking</key>\n<true/>"),
        notApplicable: Example(ats: "<key>NSAllowsLocalNetworking</key>\n<true/>", trailing: "<!-- a comment -->\n"),
        check: .plist { facts, hits in
            for oddity in facts.subject.document.oddities where oddity.kind == .trailingContent {
                hits.add(
                    Hit(
                        keyPath: [], offset: oddity.offset,
                        message: "There is text after the end of the property list. It is never read.",
                        fix: "Remove it.",
                        edits: [.replace(oddity.offset..<facts.subject.document.source.count, with: "")]))
            }
        }
    )
}
