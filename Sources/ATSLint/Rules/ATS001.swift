// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import PropertyLists
import Vocabulary

extension RuleCatalog {
    static let ats001 = Rule(
        id: "ATS001",
        severity: .error,
        summary: "A key is misspelled, so it is never read.",
        reason: """
            Unknown keys are silently ignored. An app with NSAllowArbitraryLoads behaves as if the line were not there, \
            and its developer looks for the fault in the server.
            """,
        citation: .security("protocol/SecProtocolConfiguration.m"),
        fixDescription:
            "renames the key if the right one loosens nothing; removes it where the right one would do nothing",
        fires: Example(ats: "<key>NSAllowArbitraryLoads</key>\n<false/>"),
        passes: Example(ats: "<key>NSAllowsArbitraryLoads</key>\n<false/>"),
        notApplicable: Example(ats: nil, root: "<key>NSAllowArbitrary</key>\n<true/>"),
        check: .plist { facts, hits in
            facts.eachKey { key in
                guard let reading = KeyReading(key.member.key, at: key.level), reading.isMisspelled else { return }
                let (member, meant) = (key.member, reading.meant)
                let name = Spelling.trimmed(member.key)
                var how: [String] = []
                if name != member.key { how.append("it has a blank or a quotation mark in front or behind") }
                if name.hasSameBytes(as: ATSKey.arbitraryLoadsInMedia) {
                    how.append("it was one until \(ATSKey.arbitraryLoadsInMediaEnd)")
                }
                let why = how.isEmpty ? "" : " (\(how.joined(separator: ", and ")))"
                let value = Spelling.valueToWrite(meant, member.node).map { " with \($0)" } ?? ""
                let isThere =
                    key.level != .root && !reading.isElsewhere
                    && key.siblings.contains { $0.key.hasSameBytes(as: meant) }
                let rest: String
                var fix = "Remove it."
                var edits: [TextEdit] = [.remove(member)]
                var advice = [Advice(edits, .sameLoads)]
                if isThere {
                    rest = " and is never read. '\(meant)' is there already."
                } else if meant.hasSameBytes(as: ATSKey.arbitraryLoads), member.node.asAppleBoolean == true,
                    let sibling = facts.arbitraryLoadsSiblings.first, facts.systems.allSupported(facts.readsSiblings)
                {
                    rest =
                        " and is never read. As '\(meant)' it would not count either, because \(sibling.key) is present."
                } else if facts.cancels(meant, member) {
                    rest =
                        " and is never read. '\(meant)', which it resembles, would cancel NSAllowsArbitraryLoads = true."
                    fix = "Remove it, or remove NSAllowsArbitraryLoads and write \(meant), \(reading.home)."
                } else if reading.isElsewhere {
                    rest = ", and it is \(key.place): it is never read. '\(meant)' is read \(reading.home)."
                    fix = "Write \(meant)\(value), \(reading.home), if that is what the app needs."
                    // What the author wants is not taken away.
                    edits = []
                    advice = value.isEmpty ? facts.moving(key, as: meant).map { [Advice($0, .goes)] } ?? [] : []
                } else {
                    rest = " and is never read. Did you mean '\(meant)'?"
                    fix = "Rename it to \(meant)\(value), if that is what the app needs."
                    edits = [.rename(member, to: meant)]
                    advice = value.isEmpty ? [Advice([.rename(member, to: meant)], .goes)] : []
                }
                hits.report(
                    member, key.path, "'\(member.key)' is not a key of App Transport Security\(why)\(rest)", fix: fix,
                    edits: edits, advice: advice)
            }
        }
    )
}
