// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

/// Text inside of Markdown.
package enum Markdown {
    /// Text on one line, also in a cell of a table: nothing in it is markup.
    package static func text(_ text: String) -> String {
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
    package static func code(_ text: String) -> String {
        guard !text.isEmpty else { return "" }
        let plain = String(text.map { $0.isNewline ? " " : $0 == "`" ? "'" : $0 }).split(
            separator: "|",
            omittingEmptySubsequences: false
        )
        return "`" + plain.joined(separator: "\\|") + "`"
    }
}
