// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import PropertyLists
import Vocabulary

extension RuleCatalog {
    static let ats023 = Rule(
        id: "ATS023",
        severity: .error,
        summary: "An exception for a local host is unnecessary, or blocks it.",
        reason: """
            Since \(SystemChange.globalKeys.names) ATS exempts names without a dot, .local names and loopback addresses. \
            An exception, also one for a range, replaces that: without NSExceptionAllowsInsecureHTTPLoads = true it blocks plain HTTP to the host.
            """,
        citation: .apple(ATSKey.localNetworking, read: "2026-11-21"),
        firstOS: SystemChange.globalKeys.list,
        fires: .domain("<key>NSExceptionAllowsInsecureHTTPLoads</key><true/>", host: "localhost"),
        passes: Example(ats: "<key>NSAllowsLocalNetworking</key>\n<true/>"),
        notApplicable: .domain(
            "<key>NSExceptionAllowsInsecureHTTPLoads</key><true/>", host: "localhost",
            root: "<key>MinimumOSVersion</key>\n<string>9.0</string>"),
        check: .plist { facts, hits in
            for entry in facts.exceptions {
                guard let effects = entry.effects, [.unneeded, .blocks].contains(effects.localState) else { continue }
                let advice = [Advice([.remove(entry.member)], .asManyLoads)]
                if effects.localState == .unneeded {
                    hits.report(
                        entry.member, entry.path,
                        "\(effects.name) is local and needs no exception\(facts.systems.words(effects.isLocal) ?? ""): plain HTTP to it is allowed without the entry.\(entry.host.localReason)",
                        fix: "Remove the entry.", severity: .warning, advice: advice, isWhole: true)
                    continue
                }
                // An entry that means to allow what it blocks.
                let wish = (entry.members ?? []).filter(facts.meansPlainHTTP).map(\.key).min()
                // An entry in the entry is for another host, and to be moved.
                if entry.members?.contains(where: \.looksLikeHost) == true { continue }
                // What only field reports call local keeps an entry that is to allow plain HTTP.
                if wish != nil, !entry.host.isLocal { continue }
                let isFree = effects.losesNothing
                let reports = entry.host.isLocal ? "" : ", as field reports say"
                let hint = wish.map { " (its \($0) is not read)" } ?? ""
                hits.report(
                    entry.member, entry.path,
                    "\(effects.name) is local\(reports). This entry blocks plain HTTP to it\(facts.systems.words(effects.blocksLocal) ?? "")\(hint), because NSExceptionAllowsInsecureHTTPLoads is not true; without the entry it is allowed.\(entry.host.localReason)",
                    fix: !isFree
                        ? "Set NSExceptionAllowsInsecureHTTPLoads = true: older systems need the entry."
                        : wish == nil ? "Remove the entry, unless you mean to block the host." : "Remove the entry.",
                    severity: wish == nil ? .warning : .error, advice: isFree ? advice : [],
                    isWhole: isFree)
            }
        }
    )
}

extension PlistFacts {
    /// Whether a key that is not read was meant to allow plain HTTP.
    func meansPlainHTTP(_ member: PlistMember) -> Bool {
        let meant = KeyReading(member.key, at: .exception)?.meant ?? member.key
        guard meant.hasSuffix("InsecureHTTPLoads") else { return false }
        if let flag = member.node.asAppleBoolean { return flag }
        return ["yes", "true", "1"].contains(member.node.string?.lowercased())
    }
}
