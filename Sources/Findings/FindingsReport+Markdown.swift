// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

extension FindingsReport {
    /// Markdown for a comment on a pull request or a wiki page.
    public func markdown() -> String {
        var result = "# App Transport Security lint\n\n\(summary).\n"
        for file in files where !file.findings.isEmpty {
            result += "\n## \(Self.code(file.path))\n\n| | rule | place | what | mend |\n|-|-|-|-|-|\n"
            for finding in file.findings {
                let line = finding.location.map { "line \($0.line)" } ?? ""
                let place = [line, Self.code(finding.keyPath.keyPathText)].filter { !$0.isEmpty }.joined(
                    separator: ", "
                )
                result +=
                    "| \(finding.severity.rawValue) | \(finding.rule) | \(place) | \(Self.cell(finding.message)) | "
                result += "\(Self.cell(finding.fix ?? "")) |\n"
            }
        }
        if !unreadable.isEmpty {
            result += "\n## Not read\n\n"
            for (path, reason) in unreadable { result += "- \(Self.code(path)): \(Self.cell(reason))\n" }
        }
        return result
    }

    /// Text of a table cell: nothing in it is markup.
    static func cell(_ text: String) -> String {
        var result = ""
        for character in text {
            switch character {
            case "|", "\\", "`", "*", "_", "[", "]", "#", "~": result += "\\\(character)"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            case "&": result += "&amp;"
            case _ where character.isNewline: result += " "
            default: result.append(character)
            }
        }
        return result
    }

    /// Text as code, also inside of a table.
    static func code(_ text: String) -> String {
        guard !text.isEmpty else { return "" }
        let plain = String(text.map { $0.isNewline ? " " : $0 == "`" ? "'" : $0 }).split(
            separator: "|",
            omittingEmptySubsequences: false
        )
        return "`" + plain.joined(separator: "\\|") + "`"
    }
}
