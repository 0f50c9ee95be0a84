// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import Vocabulary

/// The findings of one run over some files, ready for any of the formats.
package struct FindingsReport: Sendable {
    /// What a format says about a rule beside its findings.
    ///
    /// The id is for example `ATS011`, the severity that of its findings where nothing raises it, the summary one line, the reason why the rule
    /// exists, and the citation where it is written.
    package typealias RuleDescription = (
        id: String, severity: Severity, summary: String, reason: String, citation: Citation
    )

    /// The findings of one file in its order; the path is relative to where the program was started.
    package typealias File = (path: String, findings: [Finding])

    /// The version of the program, for formats that name it.
    package let version: String
    /// Every rule that was run, not only those that found something.
    package let rules: [RuleDescription]
    /// Every file that was read, with and without findings.
    package let files: [File]
    /// From this severity on a finding fails the run.
    package let failOn: Severity
    /// Files that could not be read, with the reason.
    package let unreadable: [(path: String, reason: String)]
    /// Files with more findings than are listed, with how many.
    package let unlisted: [(path: String, reason: String)]
    /// Sentences about the run that are no findings, for readers of the text.
    package let notes: [String]

    package init(
        version: String, rules: [RuleDescription], files: [File], failOn: Severity = .error,
        unreadable: [(path: String, reason: String)] = [], unlisted: [(path: String, reason: String)] = [],
        notes: [String] = []
    ) {
        self.version = version
        self.rules = rules
        self.files = files
        self.failOn = failOn
        self.unreadable = unreadable
        self.unlisted = unlisted
        self.notes = notes
    }

    /// What the report lacks: files that could not be read, and findings beyond what is listed.
    package var gaps: [(path: String, reason: String)] { unreadable + unlisted }

    /// How many findings have a severity.
    package func count(_ severity: Severity) -> Int {
        files.reduce(0) { sum, file in sum + file.findings.count { $0.severity == severity } }
    }

    /// Whether a finding fails the run.
    package var fails: Bool { files.contains { $0.findings.contains { $0.severity >= failOn } } }

    /// One sentence with the counts, for example `2 errors, 1 warning and 0 notes in 3 files`.
    package var summary: String {
        func words(_ count: Int, _ noun: String) -> String { "\(count) \(noun)\(count == 1 ? "" : "s")" }
        return
            "\(words(count(.error), "error")), \(words(count(.warning), "warning")) and \(words(count(.note), "note")) in "
            + words(files.count, "file")
    }
}
