// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import PropertyLists
import Vocabulary

extension RuleCatalog {
    static let ats030 = Rule(
        id: "ATS030",
        severity: .warning,
        summary: "An extension has different rules from its app.",
        reason: """
            Every extension, App Clip and watch app is judged by the dictionary of its own Info.plist. \
            A request that works in the app fails in an extension that lacks the exception.
            """,
        citation: .apple("Preventing Insecure Network Connections", read: "2026-11-21"),
        fires: Example(
            ats: "<key>NSAllowsLocalNetworking</key>\n<true/>", sibling: "<key>NSAllowsLocalNetworking</key>\n<false/>"),
        passes: Example(
            ats: "<key>NSAllowsLocalNetworking</key>\n<true/>", sibling: "<key>NSAllowsLocalNetworking</key>\n<true/>"),
        notApplicable: Example(ats: "<key>NSAllowsLocalNetworking</key>\n<true/>"),
        check: .bundle { parts in
            guard let app = parts.first(where: { $0.subject.role == .app }) else { return [] }
            let expected = ATSDictionary(app.ats?.node.propertyListValue).propertyListValue
            return parts.enumerated().compactMap { index, part in
                let own = ATSDictionary(part.ats?.node.propertyListValue).propertyListValue
                // What is not read makes no difference.
                guard ![.app, .framework].contains(part.subject.role), own != expected else { return nil }
                let name = part.subject.bundle ?? part.subject.path
                let isLone = expected.members?.isEmpty != false || own.members?.isEmpty != false
                let words =
                    switch (app.ats, part.ats) {
                    case (nil, _?) where isLone: "has an ATS dictionary and its app has none"
                    case (_?, nil): "has no ATS dictionary and its app has one, so the default rules apply to it"
                    default: "has a different ATS dictionary from its app"
                    }
                let hit = Hit(
                    keyPath: PlistFacts.atsPath,
                    offset: part.ats?.keyRange.lowerBound ?? part.subject.document.root.range.lowerBound,
                    message:
                        "The \(part.subject.role.rawValue) \(name) \(words): \(differences(expected, own)). Each is judged by its own dictionary.",
                    fix:
                        "Make the two the same, and remove what only the \(part.subject.role.rawValue) allows, unless it loads from other hosts."
                )
                return (index, hit)
            }
        }
    )

    /// What an app and a part of it do not say alike, as clauses.
    private static func differences(_ app: PropertyListValue, _ part: PropertyListValue) -> String {
        let (app, part) = (app.members ?? [:], part.members ?? [:])
        var clauses: [String] = []
        func compare(_ name: String, _ app: PropertyListValue?, _ part: PropertyListValue?) {
            guard app != part else { return }
            func word(_ value: PropertyListValue?) -> String {
                switch value {
                case nil: "absent"
                case .boolean(let flag): flag ? "true" : "false"
                default: "there"
                }
            }
            let isBoth = app?.members != nil && part?.members != nil
            clauses.append(
                isBoth ? "\(name) is not the same" : "\(name) is \(word(part)) here and \(word(app)) in the app")
        }
        for key in Set(app.keys).union(part.keys).sorted() {
            let hosts = (app[key]?.members ?? [:], part[key]?.members ?? [:])
            guard app[key]?.members != nil || part[key]?.members != nil else {
                compare(key, app[key], part[key])
                continue
            }
            for host in Set(hosts.0.keys).union(hosts.1.keys).sorted() {
                compare("\(key).\(host.prefix(bytes: 80))", hosts.0[host], hosts.1[host])
            }
        }
        let shown = clauses.prefix(5).joined(separator: "; ")
        return clauses.count > 5 ? "\(shown); and \(clauses.count - 5) more" : shown
    }
}
