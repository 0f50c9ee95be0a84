// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import PropertyLists
import Vocabulary

extension RuleCatalog {
    static let ats031 = Rule(
        id: "ATS031",
        severity: .note,
        summary: "A key is set to its default value.",
        reason:
            "A minimum of TLS 1.2 and forward secrecy are the default. Under NSAllowsArbitraryLoads = true stating them for a host is not redundant.",
        citation: .apple(ATSKey.minimumTLSVersion, read: "2026-11-21"),
        fixDescription: "removes the key",
        fires: .domain(
            "<key>NSExceptionMinimumTLSVersion</key><string>TLSv1.2</string><key>NSExceptionRequiresForwardSecrecy</key><false/>"
        ),
        passes: .domain("<key>NSExceptionRequiresForwardSecrecy</key><false/>"),
        notApplicable: .domain(
            "<key>NSExceptionMinimumTLSVersion</key><string>TLSv1.2</string>",
            globals: "<key>NSAllowsArbitraryLoads</key>\n<true/>"),
        check: .plist { facts, hits in
            guard facts.flag(ATSKey.arbitraryLoads) != true else { return }
            for entry in facts.exceptions {
                if let (member, version) = entry.minimumVersion, version == .tls12 {
                    report(member, entry, "the minimum is the same without it", &hits)
                }
                if let member = entry.sub(ATSKey.forwardSecrecy), member.node.asAppleBoolean == true {
                    report(member, entry, "nothing changes without it", &hits)
                }
            }
        }
    )

    private static func report(_ member: PlistMember, _ entry: DomainEntry, _ why: String, _ hits: inout Hits) {
        hits.report(
            member, entry.path(member.key), "\(member.key) repeats the default: \(why).", fix: "Remove it.",
            edits: [.remove(member)] + (entry.members?.count == 1 ? [.remove(entry.member)] : []),
            advice: [Advice([.remove(member)], .sameLoads)])
    }
}
