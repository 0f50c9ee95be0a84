// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

extension StringProtocol {
    /// The text with everything escaped that could steer a terminal, begin a new line or reorder what a reader sees: C0 and C1 control
    /// characters, line and paragraph separators, and bidirectional controls, as `\u{1b}`.
    ///
    /// The one function for text from outside that is shown to people or written to a log.
    @inlinable package var terminalSafe: String {
        guard unicodeScalars.contains(where: { $0.steersTerminal }) else { return String(self) }
        var result = ""
        for scalar in unicodeScalars {
            if scalar.steersTerminal {
                result += "\\u{\(String(scalar.value, radix: 16))}"
            } else {
                result.unicodeScalars.append(scalar)
            }
        }
        return result
    }

    /// The same, cut to at most `limit` bytes of the text and marked with `...` if something was cut.
    package func terminalSafe(limit: Int) -> String {
        guard utf8.count > limit else { return terminalSafe }
        return prefix(bytes: limit).terminalSafe + "..."
    }
}

extension Unicode.Scalar {
    /// Whether it could steer a terminal, begin a new line or reorder what a reader sees.
    @usableFromInline package var steersTerminal: Bool {
        switch value {
        case 0...0x1F, 0x7F...0x9F, 0x061C, 0x200E, 0x200F, 0x2028...0x202E, 0x2066...0x2069: true
        default: false
        }
    }
}
