// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

extension StringProtocol {
    /// How many columns a terminal gives to the text: 2 for wide characters (Unicode Standard Annex 11, W and F) and emoji, 0 for marks, for
    /// what joins emoji and for sequences that set a color, 1 for all else.
    package var displayWidth: Int {
        var width = 0
        var last: Unicode.Scalar?
        var isJoined = false
        var isColor = false
        for scalar in unicodeScalars {
            if isColor {
                isColor = scalar != "m"
            } else if scalar == "\u{1B}" {
                isColor = true
            } else if scalar == "\u{FE0F}", let before = last, before.columns == 1, before.properties.isEmoji {
                // The sign before it is drawn as an emoji.
                width += 1
            } else if !isJoined, !(scalar.properties.isEmojiModifier && last?.properties.isEmojiModifierBase == true) {
                width += scalar.columns
            }
            isJoined = scalar == "\u{200D}"
            last = scalar
        }
        return width
    }

    /// The text with spaces after it, so that it takes at least so many columns.
    package func padded(to columns: Int) -> String {
        self + String(repeating: " ", count: Swift.max(0, columns - displayWidth))
    }

    /// The text with spaces before it, so that it takes at least so many columns.
    package func aligned(to columns: Int) -> String {
        String(repeating: " ", count: Swift.max(0, columns - displayWidth)) + self
    }
}

extension String {
    /// The text with every line that takes more columns broken between words. What follows a break is set below the last column of the line
    /// that a gap of two spaces begins, so that labels stay alone.
    ///
    /// Words, texts in single quotes, lines of markup, and commands behind a label stay whole, however long they are: of a command that was broken, each
    /// line would be run when it is pasted.
    package func wrapped(to columns: Int) -> String {
        utf8.split(separator: 0x0A, omittingEmptySubsequences: false)
            .map { String(Substring($0)).wrappedLine(to: columns) }.joined(separator: "\n")
    }

    /// As `next  sealward doctor`.
    private var isCommand: Bool {
        let rest = utf8.drop { $0 == 0x20 }.drop { $0.isASCIIAlphanumeric }
        return rest.starts(with: "  ".utf8) && rest.drop { $0 == 0x20 }.starts(with: "sealward ".utf8)
    }

    /// Gaps that begin farther right are not those of a label.
    private static let labelColumns = 48

    fileprivate func wrappedLine(to columns: Int) -> String {
        // No text has more columns than bytes.
        guard utf8.count > columns, displayWidth > columns, utf8.first(where: { $0 != 0x20 }) != 0x3C, !isCommand else {
            return self
        }
        var words = Words(self)
        let indent = words.indent(within: String.labelColumns)
        var result = ""
        var width = 0
        var isFresh = true
        while let (gap, word) = words.next() {
            let wide = word.displayWidth
            if !isFresh, width > indent, width + gap + wide > columns {
                result += "\n" + String(repeating: " ", count: indent)
                width = indent
            } else {
                result += String(repeating: " ", count: gap)
                width += gap
            }
            result += word
            width += wide
            isFresh = false
        }
        return result
    }
}

/// The words of a line with the gaps before them. A text in single quotes is one word.
private struct Words {
    private let bytes: [UInt8]
    private var place = 0
    /// A quote whose end is farther away is an apostrophe.
    private static let longestQuote = 80

    init(_ line: String) { bytes = Array(line.utf8) }

    mutating func next() -> (gap: Int, word: String)? {
        let start = bytes[place...].firstIndex { $0 != 0x20 } ?? bytes.endIndex
        guard start < bytes.endIndex else { return nil }
        var end = bytes[start...].firstIndex(of: 0x20) ?? bytes.endIndex
        if bytes[start] == 0x27, let close = bytes[start...].dropFirst().prefix(Words.longestQuote).firstIndex(of: 0x27)
        {
            end = bytes[close...].firstIndex(of: 0x20) ?? bytes.endIndex
        }
        defer { place = end }
        return (start - place, String(decoding: bytes[start..<end], as: UTF8.self))
    }

    /// The column where the text of a line begins, after its labels.
    func indent(within limit: Int) -> Int {
        var rest = self
        var column = 0
        var indent = 0
        while let (gap, word) = rest.next() {
            column += gap
            if column > limit { break }
            if gap > 1 || column == gap { indent = column }
            column += word.displayWidth
            // A mark of a list is a label, though one space follows it.
            if column - indent <= 2, indent + word.utf8.count == column, ["->", "-", "*"].contains(word) {
                indent = column + 1
            }
        }
        return indent
    }
}

extension Unicode.Scalar {
    /// The columns of the character on its own.
    fileprivate var columns: Int {
        // Most text is ASCII, and nothing before the marks at U+0300 is anything but one column.
        if value < 0x300 { return value == 0xAD ? 0 : 1 }
        switch properties.generalCategory {
        case .nonspacingMark, .enclosingMark, .format: return 0
        default: break
        }
        // A flag is two letters, each half of it.
        if (0x1F1E6...0x1F1FF).contains(value) { return 1 }
        // The vowels and finals of Hangul syllables are drawn into the first consonant.
        if (0x1160...0x11FF).contains(value) { return 0 }
        return properties.isEmojiPresentation || Unicode.Scalar.wide.contains { $0.contains(value) } ? 2 : 1
    }

    /// The blocks of EastAsianWidth.txt (Unicode 16) that are W or F, without emoji, which are known by their property.
    private static let wide: [ClosedRange<UInt32>] = [
        0x1100...0x115F, 0x2329...0x232A, 0x2E80...0x303E, 0x3041...0x3247, 0x3250...0x4DBF, 0x4E00...0xA4CF,
        0xA960...0xA97C,
        0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE10...0xFE19, 0xFE30...0xFE6F, 0xFF00...0xFF60, 0xFFE0...0xFFE6,
        0x16FE0...0x18CFF,
        0x1AFF0...0x1B2FF, 0x1F200...0x1F265, 0x20000...0x3FFFD,
    ]
}
