// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import Findings
import PropertyLists

extension RuleCatalog {
    static let ats037 = Rule(
        "ATS037",
        .warning,
        "A key is unknown and never read.",
        reason: "The system ignores keys that it does not know. The line looks as if it did something.",
        citation: .security("protocol/SecProtocolConfiguration.m"),
        fixDescription: "removes the key, which changes nothing",
        fires: Example("<key>NSRequiresGoodServers</key>\n<true/>"),
        passes: Example("<key>NSAllowsLocalNetworking</key>\n<true/>"),
        notApplicable: Example(nil, root: "<key>MyOwnKey</key>\n<true/>"),
        check: .plist { facts, hits in
            for member in facts.members where KeyPlacement.of(member.key, at: .global) == .unknown {
                report(member, PlistFacts.atsPath, ATSDictionary.keys, &hits)
            }
            for entry in facts.exceptions {
                for member in entry.members ?? [] where KeyPlacement.of(member.key, at: .exception) == .unknown {
                    report(member, entry.path, ExceptionKeys.all + ExceptionKeys.legacy, &hits)
                }
            }
            for entry in facts.pins {
                for member in entry.members ?? [] where KeyPlacement.of(member.key, at: .pin) == .unknown {
                    report(member, entry.path, PinKeys.all, &hits)
                }
            }
        }
    )

    private static func report(_ member: PlistMember, _ path: [String], _ known: [String], _ hits: inout Hits) {
        // A near miss is told by ATS001.
        guard member.key.utf8.count <= 4 || Spelling.correction(of: member.key, among: known) == nil else { return }
        let place =
            if path == PlistFacts.atsPath, HostKey(member.key).labelCount > 1, member.node.members != nil {
                " It looks like a host; hosts belong in NSExceptionDomains."
            } else {
                ""
            }
        hits.report(
            member, path + [member.key],
            "'\(member.key.prefix(bytes: 120))' is not a key that is read here; the system ignores it.\(place)",
            fix: "Remove it.", edits: place.isEmpty ? [.remove(member)] : [])
    }
}
