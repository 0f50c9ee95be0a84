// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import Findings
import PropertyLists

extension RuleCatalog {
    static let ats002 = Rule(
        "ATS002",
        .error,
        "A value has the wrong type.",
        reason: """
            Switches must be booleans. A string such as \"YES\" counts as if the key were absent, and of the integers only 1 is true: \
            2 is false. A TLS version must be a string.
            """,
        citation: .security("protocol/SecProtocolConfigurationTest.m (invalid dictionaries)"),
        fixDescription: "writes the boolean if it loosens nothing; otherwise removes the key, which changes nothing",
        fires: Example("<key>NSAllowsArbitraryLoads</key>\n<string>NO</string>"),
        passes: Example("<key>NSAllowsArbitraryLoads</key>\n<false/>"),
        notApplicable: .domain("<key>NSExceptionMinimumTLSVersion</key><string>TLSv1.3</string>"),
        check: .plist { facts, hits in
            for member in facts.members where ATSDictionary.booleanKeys.contains(member.key) {
                checkBoolean(member, facts.path(member.key), &hits)
            }
            if let member = facts.global(ATSKey.requiresNIAP) {
                checkString(member, facts.path(member.key), &hits)
            }
            for entry in facts.exceptions {
                for member in entry.members ?? [] {
                    let path = entry.path(member.key)
                    if ExceptionKeys.allBooleans.contains(member.key) {
                        checkBoolean(member, path, &hits)
                    } else if ExceptionKeys.tlsVersions.contains(member.key)
                        || member.key == ATSKey.exceptionNIAP
                    {
                        checkString(member, path, &hits)
                    }
                }
            }
            for entry in facts.pins {
                if let member = entry.sub(ATSKey.includesSubdomains) {
                    checkBoolean(member, entry.path(member.key), &hits)
                }
            }
        }
    )

    private static func checkBoolean(_ member: PlistMember, _ path: [String], _ hits: inout Hits) {
        switch member.node.value {
        case .boolean, .integer(0), .integer(1): return
        case .integer(let number):
            hits.report(
                member, path,
                "\(member.key) is the integer \(number), which counts as false: of all numbers only 1 is true.",
                fix: "Write <true/> or <false/>.", edits: [.value(member, "<false/>")])
        case .string(let text):
            let meant: Bool? =
                switch text.lowercased() {
                case "yes", "true", "1", "y": true
                case "no", "false", "0", "n": false
                default: nil
                }
            if PlaceholderText.isIn(text) { return }
            hits.report(
                member, path,
                "\(member.key) is the string \"\(text.prefix(bytes: 40))\", so it counts as absent: the switch must be a boolean.",
                fix: meant.map { "Write <\($0)/>." } ?? "Write <true/> or <false/>.",
                edits: (meant.map { [.value(member, "<\($0)/>")] } ?? []) + [.remove(member)])
        default:
            hits.report(
                member, path,
                "\(member.key) is of type \(member.node.typeName), so it counts as absent: the switch must be a boolean.",
                fix: "Write <true/> or <false/>.", edits: [.remove(member)])
        }
    }

    private static func checkString(_ member: PlistMember, _ path: [String], _ hits: inout Hits) {
        guard member.node.string == nil else { return }
        var meant: TLSVersionName?
        if case .real(let number) = member.node.value { meant = TLSVersionName.meant("\(number)") }
        hits.report(
            member, path,
            "\(member.key) is of type \(member.node.typeName), so it counts as absent: the value must be a string.",
            fix: "Write it as a string, for example <string>\((meant ?? .tls12).rawValue)</string>, or remove it.",
            edits: [.remove(member)])
    }
}
