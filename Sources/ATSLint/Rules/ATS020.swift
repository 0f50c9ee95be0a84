// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import Findings
import PropertyLists

extension RuleCatalog {
    static let ats020 = Rule(
        "ATS020",
        .warning,
        "NSRequiresCertificateTransparency is obsolete.",
        reason:
            "Certificate Transparency is required of every publicly trusted certificate today, whatever the key says. Apple's documentation says not to use it.",
        citation: .apple(ATSKey.certificateTransparency, read: "2026-11-21"),
        fixDescription: "removes the key, which changes nothing",
        fires: .domain(
            "<key>NSRequiresCertificateTransparency</key><true/><key>NSExceptionMinimumTLSVersion</key><string>TLSv1.3</string>"
        ),
        passes: .domain("<key>NSExceptionMinimumTLSVersion</key><string>TLSv1.3</string>"),
        notApplicable: Example("<key>NSAllowsLocalNetworking</key>\n<true/>"),
        check: .plist { facts, hits in
            for entry in facts.exceptions {
                guard let member = entry.sub(ATSKey.certificateTransparency) else { continue }
                hits.report(
                    member,
                    entry.path(member.key),
                    "NSRequiresCertificateTransparency is obsolete and no longer read: Certificate Transparency is required of every publicly trusted certificate.",
                    fix: "Remove it.",
                    edits: [.remove(member)]
                )
            }
        }
    )
}
