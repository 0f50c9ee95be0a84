// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import PropertyLists
import Vocabulary

extension RuleCatalog {
    static let ats020 = Rule(
        id: "ATS020",
        severity: .warning,
        summary: "NSRequiresCertificateTransparency is obsolete.",
        reason: """
            Certificate Transparency is required of every publicly trusted certificate today, whatever the key says. Apple's documentation says not to use \
            it. Systems before \(SystemChange.transparencyKeyEnds.names) may still obey it: a load on macOS 11 failed because of it, though Apple's published \
            evaluator does not read it.
            """,
        citation: .apple(ATSKey.certificateTransparency, read: "2026-11-21"),
        fixDescription: "removes the key if the minimum system is known and no system since reads it",
        fires: .domain(
            "<key>NSRequiresCertificateTransparency</key><true/><key>NSExceptionMinimumTLSVersion</key><string>TLSv1.3</string>",
            root: "<key>MinimumOSVersion</key>\n<string>16.0</string>"
        ),
        passes: .domain("<key>NSExceptionMinimumTLSVersion</key><string>TLSv1.3</string>"),
        notApplicable: Example(ats: "<key>NSAllowsLocalNetworking</key>\n<true/>"),
        check: .plist { facts, hits in
            for entry in facts.exceptions {
                guard let member = entry.sub(ATSKey.certificateTransparency) else { continue }
                let minimum = facts.subject.minimumOS
                if entry.flag(member.key) == true, minimum?.isBefore(.transparencyKeyEnds) != false {
                    let app =
                        minimum.map { "The app supports \($0.name) and later" } ?? "The list names no minimum system"
                    hits.report(
                        member, entry.path(member.key),
                        "NSRequiresCertificateTransparency is obsolete: no system reads it since \(SystemChange.transparencyKeyEnds.names). \(app), and older systems may still require timestamps because of it.",
                        fix: minimum == nil
                            ? "Remove it if the app runs on no older system."
                            : "Keep it while the app supports such systems, or remove it if their check is not needed.")
                    continue
                }
                hits.report(
                    member, entry.path(member.key),
                    "NSRequiresCertificateTransparency is obsolete and no longer read since \(SystemChange.transparencyKeyEnds.names): Certificate Transparency is required of every publicly trusted certificate.",
                    fix: "Remove it.", edits: [.remove(member)], advice: [Advice([.remove(member)], .sameLoads)])
            }
        }
    )
}
