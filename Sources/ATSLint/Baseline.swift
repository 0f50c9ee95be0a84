// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import Formats
package import Vocabulary

/// Findings that are known and tolerated, so that only new ones fail a run. It is a ratchet: it can lose entries, never gain any.
package struct Baseline: Sendable, Equatable {
    /// One kind of finding at one key path, with how often it is tolerated.
    struct Entry: Hashable, Comparable, Sendable {
        let path: UTF8Key
        let rule: UTF8Key
        let keyPath: UTF8Key

        init(path: String, rule: String, keyPath: String) {
            self.path = UTF8Key(path)
            self.rule = UTF8Key(rule)
            self.keyPath = UTF8Key(keyPath)
        }

        static func < (left: Entry, right: Entry) -> Bool {
            (left.path, left.rule, left.keyPath) < (right.path, right.rule, right.keyPath)
        }
    }

    private(set) var entries: [Entry: Int]

    /// A baseline that tolerates everything that was found.
    package init(_ results: [LintResult]) {
        entries = [:]
        for result in results {
            for entry in result.findings.flatMap({ Self.entries($0, result.subject.path) }) {
                entries[entry, default: 0] += 1
            }
        }
    }

    private init(entries: [Entry: Int]) { self.entries = entries }

    /// One for each rule that has a part in the finding.
    private static func entries(_ finding: LintFinding, _ path: String) -> [Entry] {
        finding.rules.map { Entry(path: path, rule: $0, keyPath: finding.finding.keyPath.keyPathText) }
    }

    /// The findings that the baseline does not tolerate, and what is left of the baseline when healed entries are dropped.
    package func compare(_ results: [LintResult]) -> (new: [LintResult], healed: Int, tightened: Baseline) {
        var budget = entries
        var kept: [Entry: Int] = [:]
        let new = results.map { result in
            let findings = result.findings.filter { finding in
                let entries = Self.entries(finding, result.subject.path)
                guard entries.allSatisfy({ budget[$0, default: 0] > 0 }) else { return true }
                for entry in entries {
                    budget[entry, default: 1] -= 1
                    kept[entry, default: 0] += 1
                }
                return false
            }
            return LintResult(
                subject: result.subject, findings: findings, questions: result.questions, omitted: result.omitted)
        }
        return (new, budget.values.reduce(0, +), Baseline(entries: kept))
    }

    /// The file form, sorted, so that a change of it is easy to read.
    package func json() -> JSONValue {
        let sorted = entries.sorted { $0.key < $1.key }
        return [
            "schema": "sealward.ats-baseline/1",
            "findings": .array(
                sorted.map { entry, count in
                    [
                        "path": .string(entry.path.text), "rule": .string(entry.rule.text),
                        "keyPath": .string(entry.keyPath.text), "count": .integer(count),
                    ]
                }
            ),
        ]
    }

    /// Reads the file form.
    ///
    /// - Throws: `MalformedInput` with code `malformed.baseline`.
    package init(json bytes: [UInt8]) throws(MalformedInput) {
        let document = try SchemaDocument(
            bytes, schema: "sealward.ats-baseline/1", code: .malformedBaseline,
            otherwise: "is not a baseline of sealward; delete it and write a new one with --update-baseline")
        guard let findings = document["findings"]?.elements else { throw document.fault }
        entries = [:]
        for finding in findings {
            guard let path = finding.member("path")?.text, let rule = finding.member("rule")?.text,
                let keyPath = finding.member("keyPath")?.text, case .integer(let count)? = finding.member("count")
            else { throw document.fault }
            let entry = Entry(path: path, rule: rule, keyPath: keyPath)
            // Two sums of a million for each of a million entries still fit.
            entries[entry, default: 0] += min(max(0, count), 1_000_000)
        }
    }
}
