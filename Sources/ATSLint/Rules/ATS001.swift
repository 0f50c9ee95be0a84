// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import Findings
import PropertyLists

extension RuleCatalog {
    static let ats001 = Rule(
        "ATS001",
        .error,
        "A key is misspelled, so it is never read.",
        reason: """
            Unknown keys are silently ignored. An app with NSAllowArbitraryLoads behaves as if the line were not there, \
            and its developer looks for the fault in the server.
            """,
        citation: .security("protocol/SecProtocolConfiguration.m"),
        fixDescription:
            "renames the key if the right one loosens nothing; otherwise removes it, which changes nothing",
        fires: Example("<key>NSAllowArbitraryLoads</key>\n<false/>"),
        passes: Example("<key>NSAllowsArbitraryLoads</key>\n<false/>"),
        notApplicable: Example(nil, root: "<key>NSAllowArbitrary</key>\n<true/>"),
        check: .plist { facts, hits in
            if facts.ats == nil {
                for member in facts.subject.document.root.members ?? [] {
                    report(member, [], among: [ATSKey.dictionary], &hits)
                }
            }
            for member in facts.members where KeyPlacement.of(member.key, at: .global) == .unknown {
                report(member, PlistFacts.atsPath, among: ATSDictionary.keys, &hits)
            }
            for entry in facts.exceptions {
                for member in entry.members ?? [] where KeyPlacement.of(member.key, at: .exception) == .unknown {
                    report(member, entry.path, among: ExceptionKeys.all + ExceptionKeys.legacy, &hits)
                }
            }
            for entry in facts.pins {
                for member in entry.members ?? [] where KeyPlacement.of(member.key, at: .pin) == .unknown {
                    report(member, entry.path, among: PinKeys.all, &hits)
                }
            }
        }
    )

    private static func report(_ member: PlistMember, _ path: [String], among known: [String], _ hits: inout Hits) {
        guard member.key.utf8.count > 4, let meant = Spelling.correction(of: member.key, among: known),
            meant != member.key
        else { return }
        let how =
            member.key.hasSameBytes(as: ATSKey.arbitraryLoadsInMedia)
            ? " (it was one until \(ATSKey.arbitraryLoadsInMediaEnd))" : ""
        hits.report(
            member, path + [member.key],
            "'\(member.key)' is not a key of App Transport Security\(how) and is never read. Did you mean '\(meant)'?",
            fix: "Rename it to \(meant), if that is what the app needs.",
            edits: [.rename(member, to: meant), .remove(member)])
    }
}
