// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import PropertyLists
import Vocabulary

/// Runs the rules over Info.plists.
public enum Linter {
    /// What the rules say about each list. Lists of the same `app` are also compared with each other.
    ///
    /// The findings of a list stand in the order of its text, those of one place in the order of the rules. At most 10,000 are kept of one list, those of rules that
    /// are errors before the others, and 32 MiB of them in all; ``LintResult/omitted`` counts the rest.
    public static func lint(_ subjects: [LintSubject]) -> [LintResult] { lint(subjects, FindingAllowance.bytes) }

    static func lint(_ subjects: [LintSubject], _ bytes: Int) -> [LintResult] {
        let facts = subjects.map(PlistFacts.init)
        var allowance = bytes
        var found = facts.map { facts in
            let hits = hits(facts, allowance)
            allowance = hits.allowance
            return hits
        }
        for (subject, rule, hit) in bundleHits(facts) where found.indices.contains(subject) {
            found[subject].allowance = allowance
            found[subject].rule = rule
            found[subject].add(hit)
            allowance = found[subject].allowance
        }
        return zip(facts, found).map { result($0.subject, $1) }
    }

    /// What the rules say about one list.
    public static func lint(_ subject: LintSubject) -> LintResult {
        result(subject, hits(PlistFacts(subject), FindingAllowance.bytes))
    }

    private static func hits(_ facts: PlistFacts, _ allowance: Int) -> Hits {
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

    private static func result(_ subject: LintSubject, _ found: Hits) -> LintResult {
        let lines = LineIndex(subject.document.source)
        let sorted = found.all.enumerated().sorted {
            ($0.element.hit.offset, $0.element.rule, $0.offset) < ($1.element.hit.offset, $1.element.rule, $1.offset)
        }
        let questions = found.questions.enumerated().sorted {
            ($0.element.offset, $0.offset) < ($1.element.offset, $1.offset)
        }
        return LintResult(
            subject: subject, findings: merged(sorted.map(\.element)).map { finding($0, lines) },
            questions: questions.map(\.element).map {
                ReviewQuestion(key: $0.key, keyPath: $0.keyPath, location: lines.location($0.offset))
            }, omitted: found.omitted)
    }

    /// What was found about one key together, in the order of the first of each; what is about the whole list stays apart. An entry that is to be
    /// removed takes the errors of its keys with it.
    private static func merged(_ sorted: [(rule: Int, hit: Hit)]) -> [[(rule: Int, hit: Hit)]] {
        var groups: [[(rule: Int, hit: Hit)]] = []
        var places: [UTF8Key: Int] = [:]
        var wholes: [UTF8Key: Int] = [:]
        for found in sorted where found.hit.isWhole { wholes[path(found.hit.keyPath)] = groups.count }
        var inside: [(entry: UTF8Key, found: (rule: Int, hit: Hit))] = []
        for found in sorted {
            let entry = wholes.isEmpty || found.hit.keyPath.count != 4 ? nil : path(found.hit.keyPath.dropLast())
            if let entry, wholes[entry] != nil {
                if severity(found) == .error, RuleCatalog.all[found.rule].id != RuleCatalog.ats018.id {
                    inside.append((entry, found))
                }
                continue
            }
            let isOfAKey = !found.hit.keyPath.isEmpty && found.hit.keyPath != PlistFacts.atsPath
            let name = UTF8Key("\(found.hit.offset)\u{0}\(path(found.hit.keyPath).text)")
            let place = isOfAKey ? places[name] ?? groups.count : groups.count
            if isOfAKey { places[name] = place }
            if place == groups.count { groups.append([]) }
            groups[place].append(found)
            if found.hit.isWhole { wholes[path(found.hit.keyPath)] = place }
        }
        // Whatever the order of the keys in the text.
        inside.sort {
            (path($0.found.hit.keyPath), $0.found.rule) < (path($1.found.hit.keyPath), $1.found.rule)
        }
        for (entry, found) in inside {
            if let place = wholes[entry] { groups[place].append(found) }
        }
        return groups
    }

    private static func path(_ keys: some Sequence<String>) -> UTF8Key { UTF8Key(keys.joined(separator: "\u{0}")) }

    /// How much something matters: never more than its rule says.
    static func severity(_ found: (rule: Int, hit: Hit)) -> Severity {
        let own = RuleCatalog.all[found.rule].severity
        return min(found.hit.severity ?? own, own)
    }

    /// One finding of all that was found about one key: the gravest first, and its fix; of equals the one that removes the entry. Keys inside of an entry that is to be removed come last.
    static func finding(_ found: [(rule: Int, hit: Hit)], _ lines: LineIndex) -> LintFinding {
        let depth = found.map(\.hit.keyPath.count).min()
        var all = found.filter { $0.hit.keyPath.count == depth }
        let gravest = all.enumerated().max { left, right in
            (severity(left.element), left.element.hit.isWhole ? 1 : 0, right.offset)
                < (severity(right.element), right.element.hit.isWhole ? 1 : 0, left.offset)
        }?.offset
        if let gravest { all.insert(all.remove(at: gravest), at: 0) }
        let edits = all.flatMap(\.hit.edits)
        all += found.filter { $0.hit.keyPath.count != depth }
        let (rule, hit) = (RuleCatalog.all[all[0].rule], all[0].hit)
        var messages: [String] = []
        for found in all where !messages.contains(found.hit.message) { messages.append(found.hit.message) }
        return LintFinding(
            finding: Finding(
                rule: rule.id, severity: all.map(severity).max() ?? rule.severity, location: lines.location(hit.offset),
                keyPath: hit.keyPath,
                message: messages.joined(separator: " "), fix: hit.fix, citation: rule.citation),
            rules: all.map { RuleCatalog.all[$0.rule].id }, edits: edits, advice: hit.advice)
    }
}
