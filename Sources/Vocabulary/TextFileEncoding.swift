// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

/// What editors and shells on Windows put at the start of a text file, and what the program says about it: every file of text is UTF-8,
/// with or without a byte order mark.
package enum TextFileEncoding {
    /// The byte order mark of UTF-8.
    private static let mark: [UInt8] = [0xEF, 0xBB, 0xBF]

    /// What is wrong with a text in UTF-16, after the name of its file.
    package static let utf16 = InputFault("is UTF-16; save it as UTF-8 (iconv -f UTF-16 -t UTF-8)")

    /// Whether bytes begin a text in UTF-16: a byte order mark, or an ASCII character of two bytes.
    package static func isUTF16(_ bytes: some Sequence<UInt8>) -> Bool {
        let start = Array(bytes.prefix(2))
        guard let first = start.first, let second = start.last, start.count == 2 else { return false }
        switch (first, second) {
        case (0xFF, 0xFE), (0xFE, 0xFF): return true
        case (0, let letter), (let letter, 0): return (0x20...0x7E).contains(letter) || (0x09...0x0D).contains(letter)
        default: return false
        }
    }

    /// How many bytes of a byte order mark of UTF-8 a text begins with.
    package static func markCount(_ bytes: [UInt8]) -> Int { bytes.starts(with: mark) ? mark.count : 0 }

    /// The text of a file without its byte order mark; bytes without one stay as they are.
    package static func text(_ bytes: [UInt8]) throws(InputFault) -> [UInt8] {
        if isUTF16(bytes) { throw utf16 }
        let count = markCount(bytes)
        return count > 0 ? Array(bytes.dropFirst(count)) : bytes
    }
}
