// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import PropertyLists
import Vocabulary

extension RuleCatalog {
    static let ats029 = Rule(
        id: "ATS029",
        severity: .error,
        summary: "A key for the NIAP TLS package has an unknown value, or is too new for the app.",
        reason:
            "The keys are read from \(SystemChange.hardening.names) on, and accept the values none, FCP_v2.1 and recommended. Older systems ignore them.",
        citation: .apple(ATSKey.requiresNIAP, read: "2026-11-21"),
        firstOS: SystemChange.hardening.list,
        fires: Example(ats: "<key>NSRequiresNIAPTLSPackageVersion</key>\n<string>FCP_v9</string>"),
        passes: Example(ats: "<key>NSRequiresNIAPTLSPackageVersion</key>\n<string>recommended</string>"),
        notApplicable: Example(ats: "<key>NSAllowsLocalNetworking</key>\n<true/>"),
        check: .plist { facts, hits in
            if let member = facts.global(ATSKey.requiresNIAP) {
                check(member, facts.path(member.key), facts, &hits)
            }
            for entry in facts.exceptions {
                guard let member = entry.sub(ATSKey.exceptionNIAP) else { continue }
                check(member, entry.path(member.key), facts, &hits)
            }
        }
    )

    private static func check(_ member: PlistMember, _ path: [String], _ facts: PlistFacts, _ hits: inout Hits) {
        if let text = member.node.string, !["none", "FCP_v2.1", "recommended"].contains(text),
            !BuildVariable.isIn(text)
        {
            hits.report(
                member, path, "\"\(text.prefix(bytes: 40))\" is not a value of \(member.key).",
                fix: "Write none, FCP_v2.1 or recommended.")
        }
        if let minimum = facts.subject.minimumOS, minimum.isBefore(.hardening) {
            hits.report(
                member, path,
                "\(member.key) is read from \(SystemChange.hardening.names) on; on older systems that the app supports (from \(minimum.name)) it has no effect.",
                fix: "Do not rely on it there.", severity: .warning)
        }
    }
}
