// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Vocabulary

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
