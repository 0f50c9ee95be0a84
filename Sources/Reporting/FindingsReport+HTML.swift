// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Vocabulary

extension FindingsReport {
    /// One self-contained page.
    package func html() -> String {
        var page = HTMLPage(title: "App Transport Security lint", lead: summary + ".")
        for file in files where !file.findings.isEmpty {
            page.section(file.path, file.findings.map(markup).joined())
        }
        let clean = files.filter(\.findings.isEmpty)
        if !clean.isEmpty {
            let items = clean.prefix(500).map { "<li><code>\(HTMLPage.text($0.path))</code></li>\n" }.joined()
            let rest = clean.count > 500 ? "<p>... and \(clean.count - 500) more.</p>\n" : ""
            page.section("Nothing found in", "<ul>\n\(items)</ul>\n\(rest)")
        }
        for (title, files) in [("Could not be read", unreadable), ("Not listed", unlisted)] where !files.isEmpty {
            let items = files.map {
                "<li><code>\(HTMLPage.text($0.path))</code>: \(HTMLPage.text($0.reason))</li>\n"
            }.joined()
            page.section(title, "<ul>\n\(items)</ul>\n")
        }
        return page.rendered(footer: "sealward \(version)")
    }

    private func markup(_ finding: Finding) -> String {
        let place = finding.location.map { "line \($0.line), column \($0.column) · " } ?? ""
        var result =
            "<div class=\"pair\"><div><span class=\"tag \(finding.severity.rawValue)\">\(finding.severity.rawValue)</span> "
        result += "<strong>\(finding.rule)</strong> <span class=\"path\">\(place)<code>"
        result += "\(HTMLPage.text(finding.keyPath.keyPathText))</code></span>\n"
        result += "<p>\(HTMLPage.text(finding.message))</p>\n"
        if let citation = finding.citation {
            result += "<p class=\"path\">Source: \(HTMLPage.text(citation.source))</p>\n"
        }
        result += "</div><div>"
        if let fix = finding.fix { result += "<p><span class=\"dim\">Fix:</span> \(HTMLPage.text(fix))</p>" }
        return result + "</div></div>\n"
    }
}
