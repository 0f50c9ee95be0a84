// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import PropertyLists
import Vocabulary

extension RuleCatalog {
    static let ats019 = Rule(
        id: "ATS019",
        severity: .error,
        summary: "A key that never existed is used.",
        reason:
            "No system ever read a key that ends in AllowsInsecureHTTPSLoads. It is copied from project to project, and shipped by build tools.",
        citation: .security("protocol/SecProtocolInternal.h"),
        fixDescription: "removes the key, which changes nothing",
        fires: .domain(
            "<key>NSTemporaryExceptionAllowsInsecureHTTPSLoads</key><false/><key>NSExceptionMinimumTLSVersion</key><string>TLSv1.3</string>"
        ),
        passes: .domain("<key>NSExceptionMinimumTLSVersion</key><string>TLSv1.3</string>"),
        notApplicable: .domain("<key>NSExceptionAllowsInsecureHTTPLoads</key><true/>"),
        check: .plist { facts, hits in
            for entry in facts.exceptions {
                for member in entry.members ?? [] where ExceptionKeys.neverExisted.contains(member.key) {
                    hits.report(
                        member, entry.path(member.key),
                        "\(member.key) never existed: no system reads it. The key for plain HTTP is NSExceptionAllowsInsecureHTTPLoads.",
                        fix: "Remove it.", edits: [.remove(member)], advice: [Advice([.remove(member)], .sameLoads)])
                }
            }
        }
    )
}
