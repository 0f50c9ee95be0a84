// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import PropertyLists
import Vocabulary

extension RuleCatalog {
    static let ats037 = Rule(
        id: "ATS037",
        severity: .error,
        summary: "A key is unknown and never read.",
        reason: "The system ignores keys that it does not know. The line looks as if it did something.",
        citation: .security("protocol/SecProtocolConfiguration.m"),
        fixDescription: "removes the key, which changes nothing",
        fires: Example(ats: "<key>NSRequiresGoodServers</key>\n<true/>"),
        passes: Example(ats: "<key>NSAllowsLocalNetworking</key>\n<true/>"),
        notApplicable: Example(ats: nil, root: "<key>MyOwnKey</key>\n<true/>"),
        check: .plist { facts, hits in
            facts.eachKey { key in
                let member = key.member
                guard key.level != .root, !BuildVariable.isIn(member.key),
                    !KeyReading.isRead(member.key, at: key.level),
                    KeyReading(member.key, at: key.level) == nil
                else { return }
                let name = member.key.prefix(bytes: 120)
                if member.looksLikeHost {
                    let home = key.level == .pin ? ATSKey.pinnedDomains : ATSKey.exceptionDomains
                    hits.report(
                        member, key.path,
                        "'\(name)' is not a key that is read here; the system ignores it. It looks like a host.",
                        fix: key.level == .global
                            ? "Move it into \(home): hosts belong there."
                            : "Move it up, directly into \(home): each host has an entry of its own.")
                } else if key.level == .global, member.key == ATSKey.dictionary,
                    member.node.members?.isEmpty == false
                {
                    hits.report(
                        member, key.path,
                        "NSAppTransportSecurity contains itself; nothing in the inner dictionary is read.",
                        fix: "Move its keys into the outer dictionary, and remove the inner one.")
                } else {
                    hits.report(
                        member, key.path, "'\(name)' is not a key that is read here; the system ignores it.",
                        fix: "Remove it.", severity: .warning, edits: [.remove(member)],
                        advice: [Advice([.remove(member)], .sameLoads)])
                }
            }
        }
    )
}

extension PlistMember {
    /// Whether it is an entry of a host where no host belongs: a dictionary under a name with a dot, or with keys of an exception.
    var looksLikeHost: Bool {
        guard let members = node.members, key != ATSKey.dictionary else { return false }
        return HostKey(key).labelCount > 1 || members.contains { KeyReading.isRead($0.key, at: .exception) }
    }
}
