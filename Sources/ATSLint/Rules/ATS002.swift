// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import PropertyLists
import Vocabulary

extension RuleCatalog {
    static let ats002 = Rule(
        id: "ATS002",
        severity: .error,
        summary: "A value has the wrong type.",
        reason: """
            Switches must be booleans. A string such as \"YES\" counts as if the key were absent, and of the integers only 1 is true: \
            2 is false. A TLS version must be a string.
            """,
        citation: .security("protocol/SecProtocolConfigurationTest.m (invalid dictionaries)"),
        fixDescription: "writes the boolean if it loosens nothing; otherwise removes the key, which changes nothing",
        fires: Example(ats: "<key>NSAllowsArbitraryLoads</key>\n<string>NO</string>"),
        passes: Example(ats: "<key>NSAllowsArbitraryLoads</key>\n<false/>"),
        notApplicable: .domain("<key>NSExceptionMinimumTLSVersion</key><string>TLSv1.3</string>"),
        check: .plist { facts, hits in
            for member in facts.members where ATSDictionary.booleanKeys.contains(member.key) {
                checkBoolean(member, facts.path(member.key), facts, &hits)
            }
            if let member = facts.global(ATSKey.requiresNIAP) {
                checkString(member, facts.path(member.key), &hits)
            }
            for entry in facts.exceptions {
                // That key is to be removed, whatever its value is.
                for member in entry.members ?? [] where !member.key.hasSameBytes(as: ATSKey.certificateTransparency) {
                    let path = entry.path(member.key)
                    if ExceptionKeys.allBooleans.contains(member.key) {
                        let current = ExceptionKeys.current(member.key)
                        let isThere = current.map { entry.sub($0) != nil } ?? false
                        checkBoolean(member, path, facts, current: isThere ? nil : current, &hits)
                    } else if ExceptionKeys.tlsVersions.contains(member.key) || member.key == ATSKey.exceptionNIAP {
                        checkString(member, path, &hits)
                    }
                }
            }
            for entry in facts.pins {
                if let member = entry.sub(ATSKey.includesSubdomains) {
                    checkBoolean(member, entry.path(member.key), facts, ofPins: true, &hits)
                }
            }
        }
    )

    /// - Parameters:
    ///   - ofPins: whether the parser of pins reads it, which takes no number for a boolean.
    ///   - current: the key to write instead of a legacy one.
    private static func checkBoolean(
        _ member: PlistMember, _ path: [String], _ facts: PlistFacts, ofPins: Bool = false, current: String? = nil,
        _ hits: inout Hits
    ) {
        let reads: Bool?
        switch member.node.value {
        case .boolean: return
        case .integer(let number) where !ofPins && (number == 0 || number == 1): return
        case .integer, .real: reads = ofPins ? nil : member.node.asAppleBoolean
        default: reads = nil
        }
        var words = "of type \(member.node.typeName)"
        var meant: Bool?
        switch member.node.value {
        case .integer(let number):
            words = "the integer \(number)"
            meant = [0: false, 1: true][number]
        case .real(let number):
            words = "the number \(number)"
            meant = [0: false, 1: true][number]
        case .string(let text):
            words = "the string \"\(text.prefix(bytes: 40))\""
            meant =
                switch Spelling.trimmed(text).lowercased() {
                case "yes", "true", "1", "y": true
                case "no", "false", "0", "n": false
                default: nil
                }
            if BuildVariable.isIn(text) {
                hits.report(
                    member, path,
                    "\(member.key) is \(words), and what the build fills in stays a string, so it counts as absent: the switch must be a boolean.",
                    fix: "Write <true/> or <false/>; a build setting cannot fill in a boolean.")
                return
            }
        default: break
        }
        if let reads {
            hits.report(
                member, path,
                "\(member.key) is \(words), which counts as \(reads): of all numbers only 1 is true. Write it as a boolean.",
                fix: "Write <\(reads)/>, which means the same.", severity: meant == nil ? nil : .note,
                edits: [.value(member, "<\(reads)/>")], advice: [Advice([.value(member, "<\(reads)/>")], .sameLoads)])
            return
        }
        let absent = "\(member.key) is \(words), so it counts as absent: the switch must be a boolean."
        if member.key.hasSameBytes(as: ATSKey.arbitraryLoads), meant == true, path.count == 2,
            let sibling = facts.arbitraryLoadsSiblings.first, facts.systems.allSupported(facts.readsSiblings)
        {
            hits.report(
                member, path, "\(absent) As one it would not count either, because \(sibling.key) is present.",
                fix: "Remove it.", edits: [.remove(member)], advice: [Advice([.remove(member)], .sameLoads)])
            return
        }
        if facts.cancels(member.key, member), path.count == 2 {
            hits.report(
                member, path, "\(absent) As one it would cancel NSAllowsArbitraryLoads = true.",
                fix:
                    "Remove it, or remove NSAllowsArbitraryLoads and write \(meant.map { "<\($0)/>" } ?? "<true/> or <false/>").",
                edits: [.remove(member)], advice: [Advice([.remove(member)], .sameLoads)])
            return
        }
        if ExceptionKeys.legacy.contains(member.key) {
            // With its value alone no system of today would read it.
            let value = meant.map { "<\($0)/>" }
            let write = current.map { "Write \($0) with \(value ?? "<true/> or <false/>"), or remove" } ?? "Remove"
            let edits = value.flatMap { value in
                current.map { [TextEdit.rename(member, to: $0), .value(member, value)] }
            }
            hits.report(
                member, path, absent, fix: "\(write) it.", edits: [.remove(member)],
                advice: [Advice([.remove(member)], .sameLoads)] + (edits.map { [Advice($0, .goes)] } ?? []))
            return
        }
        hits.report(
            member, path, absent,
            fix: meant.map { "Write <\($0)/>." } ?? "Write <true/> or <false/>.",
            edits: (meant.map { [.value(member, "<\($0)/>")] } ?? []) + [.remove(member)],
            advice: meant.map { [Advice([.value(member, "<\($0)/>")], .goes)] } ?? [])
    }

    private static func checkString(_ member: PlistMember, _ path: [String], _ hits: inout Hits) {
        guard member.node.string == nil else { return }
        var right = member.key.hasSuffix(ATSKey.packageWord) ? HardeningLevel.recommended.rawValue : "TLSv1.3"
        if case .real(let number) = member.node.value, let version = TLSVersionName.meant("\(number)") {
            right = version.rawValue
        }
        hits.report(
            member, path,
            "\(member.key) is of type \(member.node.typeName), so it counts as absent: the value must be a string.",
            fix: ExceptionKeys.current(member.key).map { "Write \($0) with <string>\(right)</string>, or remove it." }
                ?? "Write it as a string, for example <string>\(right)</string>, or remove it.",
            edits: [.remove(member)], advice: [Advice([.remove(member)], .sameLoads)])
    }
}
