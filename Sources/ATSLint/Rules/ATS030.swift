// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import PropertyLists
import Vocabulary

extension RuleCatalog {
    static let ats030 = Rule(
        "ATS030",
        .warning,
        "An extension has different rules from its app.",
        reason: """
            Every extension, App Clip and watch app is judged by the dictionary of its own Info.plist. \
            A request that works in the app fails in an extension that lacks the exception.
            """,
        citation: .apple("Preventing Insecure Network Connections", read: "2026-11-21"),
        fires: Example(
            "<key>NSAllowsLocalNetworking</key>\n<true/>", sibling: "<key>NSAllowsLocalNetworking</key>\n<false/>"),
        passes: Example(
            "<key>NSAllowsLocalNetworking</key>\n<true/>", sibling: "<key>NSAllowsLocalNetworking</key>\n<true/>"),
        notApplicable: Example("<key>NSAllowsLocalNetworking</key>\n<true/>"),
        check: .bundle { parts in
            guard let app = parts.first(where: { $0.subject.role == .app }) else { return [] }
            let expected = app.ats?.node.propertyListValue
            return parts.enumerated().compactMap { index, part in
                guard ![.app, .framework].contains(part.subject.role), part.ats?.node.propertyListValue != expected
                else { return nil }
                let name = part.subject.bundle ?? part.subject.path
                let words =
                    switch (expected, part.ats) {
                    case (nil, _?): "has an ATS dictionary and its app has none"
                    case (_?, nil): "has no ATS dictionary and its app has one, so the default rules apply to it"
                    default: "has a different ATS dictionary from its app"
                    }
                let hit = Hit(
                    keyPath: PlistFacts.atsPath,
                    offset: part.ats?.keyRange.lowerBound ?? part.subject.document.root.range.lowerBound,
                    message:
                        "The \(part.subject.role.rawValue) \(name) \(words). Each is judged by its own dictionary.",
                    fix: "Make the two the same, unless the \(part.subject.role.rawValue) loads from other hosts.")
                return (index, hit)
            }
        }
    )
}
