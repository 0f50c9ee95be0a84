// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import Findings
import PropertyLists

/// Runs the rules over Info.plists.
public enum Linter {
    /// What the rules say about each list. Lists of the same `app` are also compared with each other.
    ///
    /// The findings of a list stand in the order of its text, those of one place in the order of the rules. At most 10,000 are kept of one list, those of rules that
    /// are errors before the others, and 32 MiB of them in all; ``LintResult/omitted`` counts the rest.
    public static func lint(_ subjects: [LintSubject]) -> [LintResult] {
        let facts = subjects.map(PlistFacts.init)
        var allowance = FindingAllowance()
        var found = facts.map { facts in
            let hits = hits(facts, allowance)
            allowance = hits.allowance
            return Found(all: hits.all, omitted: hits.omitted)
        }
        for (subject, rule, hit) in bundleHits(facts) where found.indices.contains(subject) {
            var hits = Hits(allowance, of: facts[subject].subject)
            hits.rule = rule
            hits.add(hit)
            allowance = hits.allowance
            found[subject].all += hits.all
            found[subject].omitted += hits.omitted
        }
        return zip(facts, found).map { result($0, $1) }
    }

    /// What the rules say about one list.
    public static func lint(_ subject: LintSubject) -> LintResult {
        let facts = PlistFacts(subject)
        let hits = hits(facts, FindingAllowance())
        return result(facts, Found(all: hits.all, omitted: hits.omitted))
    }

    private struct Found {
        var all: [(rule: Int, hit: Hit)]
        var omitted: Int
    }

    private static func hits(_ facts: PlistFacts, _ allowance: FindingAllowance) -> Hits {
        var hits = Hits(allowance, of: facts.subject)
        // Nobody reads the dictionary of a framework: that is all there is to say about it.
        let isRead = facts.subject.role != .framework
        for (index, check) in plistChecks where isRead || RuleCatalog.all[index].id == RuleCatalog.ats045.id {
            hits.rule = index
            check(facts, &hits)
        }
        return hits
    }

    /// The checks of single lists with the indices of their rules, taken out of the rules once. Errors come first: if a list has more findings
    /// than are kept, notes are left out before them.
    private static let plistChecks: [(rule: Int, check: @Sendable (PlistFacts, inout Hits) -> Void)] =
        RuleCatalog.all.enumerated().compactMap { index, rule in
            if case .plist(let check) = rule.check { (index, check) } else { nil }
        }
        .sorted { (RuleCatalog.all[$1.0].severity, $0.0) < (RuleCatalog.all[$0.0].severity, $1.0) }

    /// What a finding takes from its rule.
    struct RuleHead {
        let id: String
        let severity: Severity
        let citation: Citation

        init(_ rule: Rule) {
            id = rule.id
            severity = rule.severity
            citation = rule.citation
        }
    }

    private static let heads = RuleCatalog.all.map(RuleHead.init)

    private static func bundleHits(_ facts: [PlistFacts]) -> [(subject: Int, rule: Int, hit: Hit)] {
        let groups = Dictionary(grouping: facts.indices.filter { facts[$0].subject.app != nil }) {
            UTF8Key(facts[$0].subject.app ?? "")
        }
        var result: [(Int, Int, Hit)] = []
        for members in groups.values where members.count > 1 {
            let parts = members.map { facts[$0] }
            for (index, rule) in RuleCatalog.all.enumerated() {
                guard case .bundle(let check) = rule.check else { continue }
                for (part, hit) in check(parts) { result.append((members[part], index, hit)) }
            }
        }
        return result
    }

    private static func result(_ facts: PlistFacts, _ found: Found) -> LintResult {
        let subject = facts.subject
        guard !found.all.isEmpty else {
            return LintResult(subject: subject, findings: [], reviewTriggers: [], omitted: found.omitted)
        }
        let lines = LineIndex(subject.document.source)
        let sorted = found.all.enumerated().sorted {
            ($0.element.hit.offset, $0.element.rule, $0.offset) < ($1.element.hit.offset, $1.element.rule, $1.offset)
        }
        let findings = sorted.map { _, found in
            finding(heads[found.rule], found.hit, lines)
        }
        return LintResult(
            subject: subject, findings: findings, reviewTriggers: triggers(of: findings), omitted: found.omitted)
    }

    /// The keys that findings name for App Review, each once.
    private static func triggers(of findings: [LintFinding]) -> [String] {
        // All of them are keys of Apple's, so few are different.
        var triggers: [String] = []
        for case let key? in findings.map(\.reviewTrigger) where !triggers.contains(key) { triggers.append(key) }
        return triggers
    }

    static func finding(_ rule: RuleHead, _ hit: Hit, _ lines: LineIndex) -> LintFinding {
        LintFinding(
            finding: Finding(
                rule: rule.id, severity: min(hit.severity ?? rule.severity, rule.severity),
                location: lines.location(hit.offset), keyPath: hit.keyPath, message: hit.message, fix: hit.fix,
                citation: rule.citation), reviewTrigger: hit.trigger, edits: hit.edits)
    }
}
