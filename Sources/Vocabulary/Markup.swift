// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

/// Text inside XML and HTML.
package enum Markup {
    /// Text between tags. Control characters, and what XML 1.0 cannot hold, become a replacement character; carriage returns, line
    /// separators, bidirectional controls and the marks that a build machine would obey become character references, so that the markup
    /// itself is safe to show.
    package static func text(_ text: String) -> String { escaped(text, isAttribute: false) }

    /// Text inside an attribute: on one line, with what ends a line as a character reference, which a reader of the markup gives back.
    package static func attribute(_ value: String) -> String { escaped(value, isAttribute: true) }

    private static func escaped(_ text: String, isAttribute: Bool) -> String {
        var result = ""
        text.eachScalar { scalar, isMark in
            switch scalar {
            // No line begins in an attribute.
            case "#" where isMark, ":" where isMark && !isAttribute: result += "&#\(scalar.value);"
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            case "\"": result += "&quot;"
            case "'": result += "&#39;"
            // A reader of the markup would take it for a line feed.
            case "\r": result += "&#13;"
            case "\n", "\t":
                if isAttribute { result += "&#\(scalar.value);" } else { result.unicodeScalars.append(scalar) }
            case "\u{0}"..."\u{1F}", "\u{7F}"..."\u{9F}", "\u{FFFE}", "\u{FFFF}": result += "\u{FFFD}"
            case _ where scalar.steersTerminal: result += "&#x\(String(scalar.value, radix: 16));"
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }
}
