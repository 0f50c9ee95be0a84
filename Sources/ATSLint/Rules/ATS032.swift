// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import PropertyLists
import Vocabulary

extension RuleCatalog {
    static let ats032 = Rule(
        id: "ATS032",
        severity: .error,
        summary: "An array or another value is used where a dictionary is required.",
        reason: """
            NSAppTransportSecurity, NSExceptionDomains and each entry of it must be dictionaries. \
            Anything else is dropped as a whole, and the default rules apply.
            """,
        citation: .security("protocol/SecProtocolConfiguration.m"),
        fires: Example(ats: "<key>NSExceptionDomains</key>\n<array><string>api.example.com</string></array>"),
        passes: .domain("<key>NSExceptionMinimumTLSVersion</key><string>TLSv1.3</string>"),
        notApplicable: Example(ats: "<key>NSAllowsLocalNetworking</key>\n<true/>"),
        check: .plist { facts, hits in
            if let ats = facts.ats, ats.node.members == nil {
                hits.report(
                    ats, PlistFacts.atsPath,
                    "NSAppTransportSecurity is of type \(ats.node.typeName) and is ignored as a whole: the default rules apply. It must be a dictionary.",
                    fix: "Write a dictionary.")
            }
            if let member = facts.exceptionsMember, member.node.members == nil {
                hits.report(
                    member, facts.path(member.key),
                    "NSExceptionDomains is of type \(member.node.typeName), so all exceptions are dropped. It must be a dictionary of hosts.",
                    fix: "Write a dictionary with a dictionary for each host.")
            }
            for entry in facts.exceptions
            where entry.members == nil {
                hits.report(
                    entry.member, entry.path,
                    "The entry of \(entry.key) is of type \(entry.member.node.typeName) and is dropped. It must be a dictionary.",
                    fix: "Write a dictionary with the keys of the exception.")
            }
        }
    )
}
