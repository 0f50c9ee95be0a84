// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Vocabulary

/// Text inside Markdown. It works on scalars: a combining mark after a `|` or a `<` makes one Character of both, and the
/// markup is markup all the same.
package enum Markdown {
    /// Text on one line, also in a cell of a table: nothing in it is markup, and nothing in it steers what a reader sees.
    package static func text(_ text: String) -> String {
        var result = ""
        for scalar in oneLine(text).unicodeScalars {
            switch scalar {
            case "|", "\\", "`", "*", "_", "[", "]", "#", "~": result += "\\\(scalar)"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            case "&": result += "&amp;"
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }

    /// Text as code, also inside a table.
    ///
    /// A text with a backslash or a vertical bar becomes an element instead of a span: renderers disagree about what `\\|` is in the span of a cell.
    /// So does one that a build machine may obey: in a span nothing can be escaped.
    package static func code(_ text: String) -> String {
        guard !text.isEmpty else { return "" }
        let line = oneLine(text)
        guard line.utf8.contains(where: { $0 == 0x5C || $0 == 0x7C }) || line.mayContainCommand else {
            return "`" + String(decoding: line.utf8.map { $0 == 0x60 ? 0x27 : $0 }, as: UTF8.self) + "`"
        }
        var result = "<code>"
        for scalar in line.unicodeScalars {
            switch scalar {
            case "|", "\\", "`", "*", "_", "[", "]", "#", "~", "<", ">", "&": result += "&#\(scalar.value);"
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result + "</code>"
    }

    /// The text with spaces for what begins a line, and safe for a terminal.
    private static func oneLine(_ text: String) -> String {
        var result = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            switch scalar.value {
            case 0x09...0x0D, 0x85, 0x2028, 0x2029: result.append(" ")
            default: result.append(scalar)
            }
        }
        return String(result).terminalSafe
    }
}
