// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

public import Findings
import Foundation

/// Findings that are known and tolerated, so that only new ones fail a run. It is a ratchet: it can lose entries, never gain any.
public struct Baseline: Sendable, Equatable {
    /// One kind of finding at one key path, with how often it is tolerated.
    struct Entry: Hashable, Sendable {
        let path: String
        let rule: String
        let keyPath: String
    }

    private(set) var entries: [Entry: Int]

    /// A baseline that tolerates everything that was found.
    public init(_ results: [LintResult]) {
        entries = [:]
        for result in results {
            for finding in result.findings {
                entries[Self.entry(finding.finding, result.subject.path), default: 0] += 1
            }
        }
    }

    private init(entries: [Entry: Int]) { self.entries = entries }

    private static func entry(_ finding: Finding, _ path: String) -> Entry {
        Entry(path: path, rule: finding.rule, keyPath: finding.keyPath.keyPathText)
    }

    /// The findings that the baseline does not tolerate, and what is left of the baseline when healed entries are dropped.
    public func compare(_ results: [LintResult]) -> (new: [LintResult], healed: Int, tightened: Baseline) {
        var budget = entries
        var kept: [Entry: Int] = [:]
        let new = results.map { result in
            let findings = result.findings.filter { finding in
                let entry = Self.entry(finding.finding, result.subject.path)
                guard let left = budget[entry], left > 0 else { return true }
                budget[entry] = left - 1
                kept[entry, default: 0] += 1
                return false
            }
            return LintResult(subject: result.subject, findings: findings, reviewTriggers: result.reviewTriggers)
        }
        return (new, budget.values.reduce(0, +), Baseline(entries: kept))
    }

    /// The file form, sorted, so that a change of it is easy to read.
    public func json() -> JSONValue {
        let sorted = entries.sorted {
            ($0.key.path, $0.key.rule, $0.key.keyPath) < ($1.key.path, $1.key.rule, $1.key.keyPath)
        }
        return [
            "schema": "sealward.ats-baseline/1",
            "findings": .array(
                sorted.map { entry, count in
                    [
                        "path": .string(entry.path), "rule": .string(entry.rule), "keyPath": .string(entry.keyPath),
                        "count": .integer(count),
                    ]
                }
            ),
        ]
    }

    /// Reads the file form.
    ///
    /// - Throws: `MalformedInput` with code `malformed.baseline`.
    public init(json bytes: [UInt8]) throws(MalformedInput) {
        let document = try Document.read(
            bytes,
            code: "malformed.baseline",
            otherwise: "is no baseline of sealward; delete it and write it anew with --update-baseline"
        )
        entries = Dictionary(
            document.findings.map {
                (Entry(path: $0.path, rule: $0.rule, keyPath: $0.keyPath), min(max(0, $0.count), 1_000_000))
            },
            uniquingKeysWith: { $0 + $1 }
        )
    }

    private struct Document: SchemaDocument {
        static let expectedSchema = "sealward.ats-baseline/1"
        let schema: String
        let findings: [Line]
        struct Line: Decodable {
            let path: String
            let rule: String
            let keyPath: String
            let count: Int
        }
    }
}
