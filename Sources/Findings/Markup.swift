// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

/// Text inside XML and HTML.
package enum Markup {
    /// Text between tags. Control characters, and what XML 1.0 cannot hold, become a replacement character; line separators and
    /// bidirectional controls become character references, so that the markup itself is safe to show.
    package static func text(_ text: String) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            case "\"": result += "&quot;"
            case "'": result += "&#39;"
            case "\n", "\t", "\r": result.unicodeScalars.append(scalar)
            case "\u{0}"..."\u{1F}", "\u{7F}"..."\u{9F}", "\u{FFFE}", "\u{FFFF}": result += "\u{FFFD}"
            case _ where scalar.steersTerminal: result += "&#x\(String(scalar.value, radix: 16));"
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }

    /// Text inside an attribute: on one line, with what ends a line as a character reference, which a reader of the markup gives back.
    package static func attribute(_ value: String) -> String {
        var result = ""
        // `text` leaves these three as they are.
        for scalar in text(value).unicodeScalars {
            switch scalar.value {
            case 0x09, 0x0A, 0x0D: result += "&#\(scalar.value);"
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }
}
