// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Vocabulary

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
