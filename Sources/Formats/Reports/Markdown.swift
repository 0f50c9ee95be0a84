// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Vocabulary

/// Text inside Markdown. It works on scalars: a combining mark after a `|` or a `<` makes one Character of both, and the
/// markup is markup all the same.
package enum Markdown {
    /// Text on one line, also in a cell of a table: nothing in it is markup, and nothing in it steers what a reader sees.
    package static func text(_ text: String) -> String {
        oneLine(text).escaped { scalar in
            switch scalar {
            case "|", "\\", "`", "*", "_", "[", "]", "#", "~": "\\\(scalar)"
            case "<": "&lt;"
            case ">": "&gt;"
            case "&": "&amp;"
            default: nil
            }
        }
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
        let marks: Set<Unicode.Scalar> = ["|", "\\", "`", "*", "_", "[", "]", "#", "~", "<", ">", "&"]
        return "<code>" + line.escaped { marks.contains($0) ? "&#\($0.value);" : nil } + "</code>"
    }

    /// The text with spaces for what begins a line, and safe for a terminal.
    private static func oneLine(_ text: String) -> String {
        text.escaped { scalar in
            switch scalar.value {
            case 0x09...0x0D, 0x85, 0x2028, 0x2029: " "
            default: nil
            }
        }.terminalSafe
    }
}

extension String {
    /// The text with what stands for some of its scalars in their place.
    func escaped(_ escape: (Unicode.Scalar) -> String?) -> String {
        unicodeScalars.reduce(into: "") { result, scalar in
            if let text = escape(scalar) { result += text } else { result.unicodeScalars.append(scalar) }
        }
    }
}
