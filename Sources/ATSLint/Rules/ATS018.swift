// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import PropertyLists
import Vocabulary

extension RuleCatalog {
    static let ats018 = Rule(
        id: "ATS018",
        severity: .error,
        summary: "A legacy key of 2015 is used.",
        reason: """
            iOS 9 and OS X 10.11 obeyed them: NSThirdPartyException... was documented until 2016-09-13, and templates of 2016 worked with \
            NSTemporaryException... alone. From iOS 10 to 12 sources contradict each other; since iOS 13 and macOS 10.15 nothing reads them.
            """,
        citation: .security("protocol/SecProtocolInternal.h"),
        fixDescription: "removes a legacy key that only states the default",
        fires: .domain(
            "<key>NSTemporaryExceptionRequiresForwardSecrecy</key><true/><key>NSExceptionMinimumTLSVersion</key><string>TLSv1.3</string>"
        ),
        passes: .domain("<key>NSExceptionMinimumTLSVersion</key><string>TLSv1.3</string>"),
        notApplicable: .domain("<key>NSExceptionRequiresForwardSecrecy</key><false/>"),
        check: .plist { facts, hits in
            for entry in facts.exceptions {
                for member in entry.members ?? [] where ExceptionKeys.legacy.contains(member.key) {
                    let suffix = ExceptionKeys.suffixes.first { member.key.hasSuffix($0) } ?? ""
                    let modern = ExceptionKeys.current(member.key) ?? member.key
                    let loosens = loosens(member, suffix)
                    let isThere = entry.sub(modern) != nil
                    let decisive = decisive(of: modern, suffix, entry.members ?? [])
                    let isSecond = !isThere && decisive != member.key
                    // Systems before the published evaluator may have obeyed them.
                    let isMild = !loosens || isThere || facts.subject.minimumOS?.isBefore(.builtInExceptions) == true
                    hits.report(
                        member, entry.path(member.key),
                        "\(member.key) is a legacy key of 2015: \(LegacyKeys.history). \(modern) is the current key\(isThere ? " and is there too" : "").",
                        fix: isThere
                            ? "Remove it."
                            : isSecond
                                ? "Remove it: \(decisive ?? modern) decides."
                                : "Rename it to \(modern) if the exception is still needed; otherwise remove it.",
                        severity: isMild ? .warning : nil, edits: loosens ? [] : [.remove(member)],
                        advice: (loosens && !isThere && !isSecond
                            && facts.subject.minimumOS?.isBefore(.builtInExceptions) == true
                            ? [] : [Advice([.remove(member)], .sameLoads)])
                            + (isThere || isSecond ? [] : [Advice([.rename(member, to: modern)], .goes)]),
                        trigger: loosens && suffix != "RequiresForwardSecrecy" ? member.key : nil)
                }
            }
        }
    )

    /// The one that systems obey where both are there, as ``LegacyKeys`` has it: not both can be given one name.
    private static func decisive(of modern: String, _ suffix: String, _ members: [PlistMember]) -> String? {
        let found = ExceptionKeys.legacy.filter { ExceptionKeys.current($0) == modern }
            .compactMap { key in members.first { $0.key == key } }
        // TLSv1.3 is younger than these names.
        let obeyed = found.first {
            suffix == "MinimumTLSVersion" ? version($0).map { $0 != .tls13 } == true : loosens($0, suffix)
        }
        return (obeyed ?? found.first)?.key
    }

    private static func version(_ member: PlistMember) -> TLSVersionName? {
        member.node.string.flatMap(TLSVersionName.init(rawValue:))
    }

    private static func loosens(_ member: PlistMember, _ suffix: String) -> Bool {
        switch suffix {
        case "AllowsInsecureHTTPLoads": member.node.asAppleBoolean == true
        case "RequiresForwardSecrecy": member.node.asAppleBoolean == false
        default: version(member).map { $0 < .tls12 } ?? false
        }
    }
}
