// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import Findings

extension Linter {
    /// What got weaker from one list to another: one finding for each host, or for all hosts without an entry together.
    ///
    /// Hosts that are worse off only because the rule for all hosts changed are not repeated one by one.
    public static func weakenings(from old: LintSubject, to new: LintSubject) -> LintResult {
        let difference = PolicyDifference(old: old, new: new)
        let lines = LineIndex(new.document.source)
        let general = Set(
            difference.weakenings.filter { $0.host.hasPrefix("Every host") }.map { [$0.rule, $0.key ?? ""] }
        )
        let facts = PlistFacts(new)
        var findings: [LintFinding] = []
        for weakening in difference.weakenings {
            let isGeneral = weakening.host.hasPrefix("Every host")
            if !isGeneral, general.contains([weakening.rule, weakening.key ?? ""]) { continue }
            guard let rule = RuleCatalog.rule(weakening.rule) else { continue }
            let (path, offset) = place(of: weakening.key, facts)
            let hit = Hit(
                keyPath: path,
                offset: offset,
                message: weakening.message,
                fix: "Take the change back, or say in the review why it is needed."
            )
            findings.append(finding(RuleHead(rule), hit, lines))
        }
        return LintResult(subject: new, findings: findings, reviewTriggers: [])
    }

    /// The path and the offset of a key like `NSExceptionDomains.api.example.com`; of the dictionary where it is not there.
    private static func place(of key: String?, _ facts: PlistFacts) -> ([String], Int) {
        let home = facts.ats?.keyRange.lowerBound ?? facts.subject.document.root.range.lowerBound
        guard let key else { return (PlistFacts.atsPath, home) }
        for (container, entries) in [("NSExceptionDomains", facts.exceptions), ("NSPinnedDomains", facts.pins)] {
            guard key.hasPrefix(container + ".") else { continue }
            let host = String(key.dropFirst(container.count + 1))
            if let entry = entries.last(where: { $0.key == host }) {
                return (entry.path, entry.member.keyRange.lowerBound)
            }
            return (PlistFacts.atsPath + [container, host], facts.global(container)?.keyRange.lowerBound ?? home)
        }
        return (facts.path(key), facts.global(key)?.keyRange.lowerBound ?? home)
    }
}
