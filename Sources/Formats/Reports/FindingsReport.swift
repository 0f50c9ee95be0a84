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

extension FindingsReport {
    /// Markdown for a comment on a pull request or a wiki page.
    package func markdown() -> String {
        var result = "# App Transport Security lint\n\n\(summary).\n"
        for file in files where !file.findings.isEmpty {
            result += "\n## \(Markdown.code(file.path))\n\n| | rule | location | message | fix |\n|-|-|-|-|-|\n"
            for finding in file.findings {
                let line = finding.location.map { "line \($0.line)" } ?? ""
                let place = [line, Markdown.code(finding.keyPath.keyPathText)].filter { !$0.isEmpty }.joined(
                    separator: ", ")
                result +=
                    "| \(finding.severity.rawValue) | \(finding.rule) | \(place) | \(Markdown.text(finding.message)) | "
                result += "\(Markdown.text(finding.fix ?? "")) |\n"
            }
        }
        for (title, files) in [("Not read", unreadable), ("Not listed", unlisted)] where !files.isEmpty {
            result += "\n## \(title)\n\n"
            for (path, reason) in files { result += "- \(Markdown.code(path)): \(Markdown.text(reason))\n" }
        }
        return result
    }
}

extension FindingsReport {
    /// One self-contained page.
    package func html() -> String {
        var page = HTMLPage(title: "App Transport Security lint", lead: summary + ".")
        for file in files where !file.findings.isEmpty {
            page.section(file.path, "\(file.findings.map(markup))")
        }
        let clean = files.filter(\.findings.isEmpty)
        if !clean.isEmpty {
            let items = clean.prefix(500).map { "<li><code>\($0.path)</code></li>\n" as HTML }
            let rest: HTML = clean.count > 500 ? "<p>... and \(clean.count - 500) more.</p>\n" : ""
            page.section("Nothing found in", "<ul>\n\(items)</ul>\n\(rest)")
        }
        for (title, files) in [("Could not be read", unreadable), ("Not listed", unlisted)] where !files.isEmpty {
            let items = files.map { "<li><code>\($0.path)</code>: \($0.reason)</li>\n" as HTML }
            page.section(title, "<ul>\n\(items)</ul>\n")
        }
        return page.rendered(footer: "sealward \(version)")
    }

    private func markup(_ finding: Finding) -> HTML {
        let place = finding.location.map { "line \($0.line), column \($0.column) · " } ?? ""
        let source = finding.citation.map { "<p class=\"path\">Source: \($0.source)</p>\n" as HTML } ?? ""
        let fix = finding.fix.map { "<p><span class=\"dim\">Fix:</span> \($0)</p>" as HTML } ?? ""
        return """
            <div class="pair"><div><span class="tag \(finding.severity.rawValue)">\(finding.severity.rawValue)</span> \
            <strong>\(finding.rule)</strong> <span class="path">\(place)<code>\(finding.keyPath.keyPathText)</code></span>
            <p>\(finding.message)</p>
            \(source)</div><div>\(fix)</div></div>

            """
    }
}

extension FindingsReport {
    /// JUnit XML: a suite for each file, a case for each finding. Findings below the threshold pass, with their text as output.
    package func junit() -> String {
        let total = files.reduce(0) { $0 + max(1, $1.findings.count) } + gaps.count
        let failures = files.reduce(0) { sum, file in sum + file.findings.count { $0.severity >= failOn } }
        var result = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
        result +=
            "<testsuites name=\"sealward ats lint\" tests=\"\(total)\" failures=\"\(failures)\" errors=\"\(gaps.count)\">\n"
        for file in files {
            let failed = file.findings.count { $0.severity >= failOn }
            result += "  <testsuite name=\"\(Markup.attribute(file.path))\" tests=\"\(max(1, file.findings.count))\" "
            result += "failures=\"\(failed)\" errors=\"0\" skipped=\"0\">\n"
            if file.findings.isEmpty {
                result += "    <testcase classname=\"\(Markup.attribute(file.path))\" name=\"no findings\"/>\n"
            }
            for finding in file.findings { result += testCase(finding, file.path) }
            result += "  </testsuite>\n"
        }
        for (index, (path, reason)) in gaps.enumerated() {
            let name = index < unreadable.count ? "read" : "list"
            result +=
                "  <testsuite name=\"\(Markup.attribute(path))\" tests=\"1\" failures=\"0\" errors=\"1\" skipped=\"0\">\n"
            result += "    <testcase classname=\"\(Markup.attribute(path))\" name=\"\(name)\">"
            result += "<error message=\"\(Markup.attribute(reason))\"/></testcase>\n  </testsuite>\n"
        }
        return result + "</testsuites>\n"
    }

    private func testCase(_ finding: Finding, _ path: String) -> String {
        let place = finding.location.map { ":\($0.line):\($0.column)" } ?? ""
        let name = "\(finding.rule) \(finding.keyPath.keyPathText)"
        var text = "\(path.terminalSafe)\(place): \(finding.severity.rawValue): \(finding.message.terminalSafe)"
        if let fix = finding.fix { text += "\n\(fix.terminalSafe)" }
        var result = "    <testcase classname=\"\(Markup.attribute(path))\" name=\"\(Markup.attribute(name))\">\n"
        if finding.severity >= failOn {
            result +=
                "      <failure type=\"\(finding.severity.rawValue)\" message=\"\(Markup.attribute(finding.message))\">"
            result += "\(Markup.text(text))</failure>\n"
        } else {
            result += "      <system-out>\(Markup.text(text))</system-out>\n"
        }
        return result + "    </testcase>\n"
    }
}
