// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
package import PropertyLists
package import Vocabulary

/// Fixes what can be fixed safely: an edit makes its finding go away, adds none but notes, loosens nothing and blocks nothing. All other bytes stay as they were.
package struct PlistFixer {
    /// What was done about one finding.
    package struct Step: Sendable {
        package let finding: Finding
        /// In words: `removed`, `renamed`, `rewritten`.
        package let action: String
    }

    /// The fixed text; equal to the source where nothing was fixed.
    package let text: [UInt8]
    package let steps: [Step]
    /// Findings that have an edit which would loosen the policy, block a load, or add another finding.
    package let declined: [Finding]

    /// The most edits of one file.
    private static let limit = 2_000
    /// The most bytes that are read again to try edits: 13,000 tries for a list of 10 kB.
    private static let workLimit = 128 << 20

    /// Fixes one list.
    ///
    /// - Parameter read: reads the changed text again; nil if it is no property list anymore.
    package init(_ subject: LintSubject, read: ([UInt8]) -> PlistDocument?) {
        var current = subject
        var steps: [Step] = []
        var declined: [Finding] = []
        var refused: Set<UTF8Key> = []
        var result = Linter.lint(current)
        var work = 0
        var before = 0
        search: while current.document.isVerbatim, steps.count < Self.limit {
            for finding in result.findings where !finding.edits.isEmpty {
                let name = UTF8Key(finding.finding.rule + "\u{0}" + finding.finding.keyPath.joined(separator: "\u{0}"))
                if refused.contains(name) { continue }
                work += (finding.edits.count + 1) * current.document.source.count
                if work > Self.workLimit { break search }
                if let (next, nextResult, edit) = Self.attempt(finding, current, result, read: read) {
                    steps.append(Step(finding: finding.finding, action: Self.words(edit)))
                    current = next
                    result = nextResult
                    continue search
                }
                refused.insert(name)
                declined.append(finding.finding)
            }
            // What was refused may be right after the others.
            if steps.count == before || refused.isEmpty { break }
            (before, refused, declined) = (steps.count, [], [])
        }
        text = current.document.source
        self.steps = steps
        self.declined = declined
    }

    /// The list after the first edit of the finding that holds what an edit promises.
    private static func attempt(
        _ finding: LintFinding, _ subject: LintSubject, _ before: LintResult, read: ([UInt8]) -> PlistDocument?
    ) -> (LintSubject, LintResult, TextEdit)? {
        let (oldCounts, oldFaults) = (counts(before), counts(before, atLeast: .warning))
        // What the build fills in stays as it is, whatever it becomes.
        let placeholders = BuildVariable.all(in: subject.document.root)
        for edit in finding.edits {
            guard let text = applied(edit, to: subject.document.source), let document = read(text),
                BuildVariable.all(in: document.root) == placeholders
            else { continue }
            let next = subject.with(document)
            let result = Linter.lint(next)
            let (newCounts, newFaults) = (counts(result), counts(result, atLeast: .warning))
            let isGone = finding.rules.contains { newCounts[$0, default: 0] < oldCounts[$0, default: 0] }
            // Notes say what a key does that now is read.
            let addsNone = newFaults.allSatisfy { $0.value <= oldFaults[$0.key, default: 0] }
            guard isGone, addsNone else { continue }
            // What is permitted stays so: an entry that is read at last may cut its host off.
            let difference = PolicyDifference(old: subject, new: next)
            if difference.isEmpty, !difference.blocksMore { return (next, result, edit) }
        }
        return nil
    }

    /// How many findings have a part of each rule.
    private static func counts(_ result: LintResult, atLeast severity: Severity = .note) -> [String: Int] {
        let findings = result.findings.filter { $0.finding.severity >= severity }
        return Dictionary(findings.flatMap(\.rules).map { ($0, 1) }, uniquingKeysWith: +)
    }

    private static func words(_ edit: TextEdit) -> String {
        switch edit {
        case .remove: "removed"
        case .replace(_, let text):
            text.hasPrefix("<key>") ? "renamed to \(text.dropFirst(5).dropLast(6))" : "rewritten"
        }
    }

    /// The text after edits that are made together, or nil if one does not fit.
    static func applied(_ edits: [TextEdit], to source: [UInt8]) -> [UInt8]? {
        var text: [UInt8]? = source
        for edit in edits.sorted(by: { $0.range.lowerBound > $1.range.lowerBound }) {
            text = text.flatMap { applied(edit, to: $0) }
        }
        return text
    }

    /// The text after one edit, or nil if the range does not fit.
    static func applied(_ edit: TextEdit, to source: [UInt8]) -> [UInt8]? {
        let range = edit.range
        guard range.lowerBound >= 0, range.upperBound <= source.count, !range.isEmpty else { return nil }
        switch edit {
        case .replace(_, let text):
            return Array(source[..<range.lowerBound]) + Array(text.utf8) + Array(source[range.upperBound...])
        case .remove:
            let whole = withEmptyLine(range, source)
            return Array(source[..<whole.lowerBound]) + Array(source[whole.upperBound...])
        }
    }

    /// The range together with the line that would be left empty.
    private static func withEmptyLine(_ range: Range<Int>, _ source: [UInt8]) -> Range<Int> {
        var start = range.lowerBound
        while start > 0, source[start - 1] == 0x20 || source[start - 1] == 0x09 { start -= 1 }
        var end = range.upperBound
        while end < source.count, source[end] == 0x20 || source[end] == 0x09 || source[end] == 0x0D { end += 1 }
        guard start == 0 || source[start - 1] == 0x0A, end < source.count, source[end] == 0x0A else { return range }
        return start..<(end + 1)
    }
}
