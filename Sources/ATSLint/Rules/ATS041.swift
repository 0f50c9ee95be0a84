// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import Findings

extension RuleCatalog {
    static let ats041 = Rule(
        "ATS041",
        .note,
        "Apple's sources disagree on whether iOS 26 and later still accept TLS 1.0 and 1.1.",
        reason: """
            A security guide of Apple says that exceptions for TLS 1.0 and 1.1 are no longer honoured; the published evaluator of macOS 26 honours them. \
            Until one of the two changes, do not rely on either.
            """,
        citation: Citation(
            source: "Apple Platform Security guide (TLS) against Security 61901: SecProtocolConfiguration.m",
            read: "2026-11-21"
        ),
        firstOS: "iOS 26, macOS 26",
        fires: .domain("<key>NSExceptionMinimumTLSVersion</key><string>TLSv1.1</string>"),
        passes: .domain("<key>NSExceptionMinimumTLSVersion</key><string>TLSv1.3</string>"),
        notApplicable: Example("<key>NSAllowsArbitraryLoads</key>\n<true/>"),
        check: .plist { facts, hits in
            for entry in facts.exceptions {
                guard let member = entry.sub("NSExceptionMinimumTLSVersion"), let text = member.node.string,
                    ["TLSv1.0", "TLSv1.1"].contains(text)
                else { continue }
                hits.report(
                    member,
                    entry.path(member.key),
                    "A security guide of Apple says that \(text) is no longer honoured on iOS 26 and macOS 26; the published evaluator of macOS 26 honours it.",
                    fix: "Plan for the stricter of the two: let the server speak TLS 1.2."
                )
            }
        }
    )
}
