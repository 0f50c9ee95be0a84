// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import Findings
import PropertyLists

extension RuleCatalog {
    static let ats033 = Rule(
        "ATS033",
        .note,
        "A minimum of TLS 1.3 excludes servers that support only TLS 1.2.",
        reason:
            "Stricter than the default. A server, a proxy or a CDN without TLS 1.3 can then not be reached.",
        citation: .apple(ATSKey.minimumTLSVersion, read: "2026-11-21"),
        firstOS: "iOS 12.2, macOS 10.14.4",
        fires: .domain("<key>NSExceptionMinimumTLSVersion</key><string>TLSv1.3</string>"),
        passes: .domain("<key>NSExceptionRequiresForwardSecrecy</key><false/>"),
        notApplicable: Example("<key>NSAllowsLocalNetworking</key>\n<true/>"),
        check: .plist { facts, hits in
            for entry in facts.exceptions {
                guard let (member, version) = entry.minimumVersion, version == .tls13 else { continue }
                hits.report(
                    member,
                    entry.path(member.key),
                    "\(entry.key) must speak TLS 1.3; a server that supports only TLS 1.2 is cut off.",
                    fix: "Check the server with 'sealward ats check \(entry.host.checkTarget)' before you ship."
                )
            }
        }
    )
}
