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

    /// The text with a backslash in front of each mark that a build machine would obey in its log (``eachScalar(_:)``).
    ///
    /// Every text that goes to a console or a log passes through here last, line ends and colors included; JSON and markup escape the same
    /// marks in their own way.
    package var commandSafe: String {
        guard mayContainCommand else { return String(self) }
        var result = String.UnicodeScalarView()
        eachScalar { scalar, isMark in
            if isMark { result.append("\\") }
            result.append(scalar)
        }
        return String(result)
    }

    /// Each scalar, and whether it is a mark without which a build machine reads no command: the last `#` of `##vso[`, `##[`, `##teamcity[`
    /// and the like anywhere, and the first colon of `::` in front of a letter, where a line begins.
    ///
    /// Sources: Azure Pipelines, "Logging commands"; GitHub Actions, "Workflow commands", whose runner skips spaces before `::`; TeamCity,
    /// "Service messages" (read 2026-11-26).
    package func eachScalar(_ body: (Unicode.Scalar, _ isMark: Bool) -> Void) {
        let scalars = unicodeScalars
        var index = scalars.startIndex
        var last: Unicode.Scalar = "\n"
        var beginsLine = true
        while index < scalars.endIndex {
            let scalar = scalars[index]
            index = scalars.index(after: index)
            switch scalar {
            case "#" where last == "#":
                let rest = scalars[index...]
                body(scalar, rest.first { !$0.isASCIILetter } == "[")
            case ":" where beginsLine:
                let next = scalars[index...].prefix(2)
                body(scalar, next.first == ":" && next.dropFirst().first?.properties.isAlphabetic == true)
            default: body(scalar, false)
            }
            beginsLine = scalar.endsLine || beginsLine && scalar.properties.isWhitespace
            last = scalar
        }
    }

    /// Whether it is worth to look at each scalar.
    package var mayContainCommand: Bool {
        var last: UInt8 = 0
        for byte in utf8 {
            if byte == last, byte == 0x23 || byte == 0x3A { return true }
            last = byte
        }
        return false
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

    /// Whether some reader of a log begins a line after it.
    fileprivate var endsLine: Bool { (0x0A...0x0D).contains(value) || [0x85, 0x2028, 0x2029].contains(value) }

    fileprivate var isASCIILetter: Bool { (0x41...0x5A).contains(value) || (0x61...0x7A).contains(value) }
}
