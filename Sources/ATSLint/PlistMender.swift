// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

public import AppTransportSecurity
public import Findings

/// Mends what can be mended safely: a mend makes its finding go away, adds none, and loosens nothing. All other bytes stay as they were.
public struct PlistMender {
    /// What was done about one finding.
    public struct Step: Sendable {
        /// What the step mends.
        public let finding: Finding
        /// In words: `removed`, `renamed`, `rewritten`.
        public let action: String
    }

    /// The mended text; equal to the source where nothing was mended.
    public let text: [UInt8]
    /// What was done, in order.
    public let steps: [Step]
    /// Findings that have a mend which would loosen the policy or add another finding.
    public let declined: [Finding]

    /// The most mends of one file.
    private static let limit = 2_000

    /// Mends one list.
    ///
    /// - Parameter read: reads the changed text again; nil where it is no property list any more.
    public init(_ subject: LintSubject, read: ([UInt8]) -> PlistDocument?) {
        var current = subject
        var steps: [Step] = []
        var declined: [Finding] = []
        var refused: Set<String> = []
        var result = Linter.lint(current)
        search: while current.document.isVerbatim, steps.count < Self.limit {
            for finding in result.findings where !finding.mends.isEmpty {
                let name = finding.finding.rule + "\u{0}" + finding.finding.keyPath.joined(separator: "\u{0}")
                if refused.contains(name) { continue }
                if let (next, nextResult, mend) = Self.attempt(finding, current, result, read: read) {
                    steps.append(Step(finding: finding.finding, action: Self.words(mend)))
                    current = next
                    result = nextResult
                    continue search
                }
                refused.insert(name)
                declined.append(finding.finding)
            }
            break
        }
        text = current.document.source
        self.steps = steps
        self.declined = declined
    }

    /// The list after the first mend of the finding that holds what a mend promises.
    private static func attempt(
        _ finding: LintFinding,
        _ subject: LintSubject,
        _ before: LintResult,
        read: ([UInt8]) -> PlistDocument?
    ) -> (LintSubject, LintResult, Mend)? {
        let oldCounts = counts(before)
        for mend in finding.mends {
            guard let text = applied(mend, to: subject.document.source), let document = read(text) else { continue }
            let next = LintSubject(
                path: subject.path,
                document: document,
                bundle: subject.bundle,
                minimumOS: subject.minimumOS,
                role: subject.role,
                app: subject.app,
                networkStack: subject.networkStack
            )
            let result = Linter.lint(next)
            let newCounts = counts(result)
            let rule = finding.finding.rule
            let isGone = newCounts[rule, default: 0] < oldCounts[rule, default: 0]
            let addsNone = newCounts.allSatisfy { $0.value <= oldCounts[$0.key, default: 0] }
            if isGone, addsNone, PolicyDifference(old: subject, new: next).isEmpty { return (next, result, mend) }
        }
        return nil
    }

    private static func counts(_ result: LintResult) -> [String: Int] {
        Dictionary(result.findings.map { ($0.finding.rule, 1) }, uniquingKeysWith: +)
    }

    private static func words(_ mend: Mend) -> String {
        switch mend {
        case .remove: "removed"
        case .replace(_, let text):
            text.hasPrefix("<key>") ? "renamed to \(text.dropFirst(5).dropLast(6))" : "rewritten"
        }
    }

    /// The text after one mend, or nil where the range does not fit.
    static func applied(_ mend: Mend, to source: [UInt8]) -> [UInt8]? {
        let range = mend.range
        guard range.lowerBound >= 0, range.upperBound <= source.count, !range.isEmpty else { return nil }
        switch mend {
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
