// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import PropertyLists
import Vocabulary

extension RuleCatalog {
    static let ats038 = Rule(
        id: "ATS038",
        severity: .note,
        summary: "A value is filled in by the build and cannot be judged yet.",
        reason:
            "A placeholder such as $(API_HOST) becomes a value when the app is built. Only the built app shows what it becomes.",
        citation: .apple("Build settings reference: INFOPLIST_EXPAND_BUILD_SETTINGS", read: "2026-11-21"),
        fires: .domain("<key>NSExceptionMinimumTLSVersion</key><string>$(MINIMUM_TLS)</string>"),
        passes: .domain("<key>NSExceptionMinimumTLSVersion</key><string>TLSv1.3</string>"),
        notApplicable: Example(
            ats: "<key>NSAllowsLocalNetworking</key>\n<true/>",
            root: "<key>CFBundleIdentifier</key>\n<string>$(PRODUCT_BUNDLE_IDENTIFIER)</string>"),
        check: .plist { facts, hits in
            guard let ats = facts.ats else { return }
            var pending: [(member: PlistMember, path: [String])] = [(ats, PlistFacts.atsPath)]
            while let (member, path) = pending.popLast() {
                if BuildVariable.isIn(member.key) {
                    hits.report(
                        member, path,
                        "The key '\(member.key.prefix(bytes: 120))' is filled in by the build; which host or key it becomes is not known here.",
                        fix: "Lint the built app too.")
                    // A string is an error in place of a boolean, whatever it becomes (ATS002).
                } else if let text = member.node.string, BuildVariable.isIn(text),
                    !ExceptionKeys.isBoolean(member.key)
                {
                    hits.report(
                        member, path,
                        "The value '\(text.prefix(bytes: 120))' is filled in by the build; what it becomes is not known here.",
                        fix: "Lint the built app too.")
                }
                for child in member.node.members ?? [] { pending.append((child, path + [child.key])) }
                for (index, element) in (member.node.elements ?? []).enumerated() {
                    for child in element.members ?? [] { pending.append((child, path + ["[\(index)]", child.key])) }
                }
            }
        }
    )
}
