// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import Vocabulary

/// A property list that was read, with everything that Apple's parser would accept silently.
public struct PlistDocument: Sendable {
    /// The forms that are read.
    public enum Format: String, Sendable {
        /// Property list XML.
        case xml
        /// `bplist00`.
        case binary
        /// JSON of a project file, from which an Info.plist is made.
        case json
        /// Another text: the old style, a print of a program, or the file of a project, from which an Info.plist is made.
        case text
    }

    /// Something that the parser of the system accepts without a word.
    package struct Oddity: Sendable, Equatable {
        package enum Kind: Sendable, Equatable {
            /// A key that the same dictionary already has; the last one counts.
            case duplicateKey
            /// Text after the end of the document; it is never read.
            case trailingContent
        }

        package let kind: Kind
        /// The keys that lead to the place.
        package let keyPath: [String]
        /// The offset in ``PlistDocument/source``, in bytes.
        package let offset: Int
        /// Of a duplicate the member before it, which is not read.
        package private(set) var earlier: Range<Int>?
    }

    package let root: PlistNode
    /// How the document was written.
    public let format: Format
    /// The text as UTF-8, without a byte order mark; empty for the binary form.
    public let source: [UInt8]
    /// Whether ``mark`` and ``source`` are the file byte for byte, so that it can be fixed in place.
    package let isVerbatim: Bool
    /// The byte order mark of UTF-8 that the file begins with.
    package let mark: [UInt8]
    /// What the reader took although it is not as it should be.
    package let oddities: [Oddity]

    package init(
        root: PlistNode, format: Format, source: [UInt8] = [], isVerbatim: Bool = false, mark: [UInt8] = [],
        oddities: [Oddity] = []
    ) {
        self.root = root
        self.format = format
        self.source = source
        self.isVerbatim = isVerbatim
        self.mark = mark
        self.oddities = oddities
    }
}

/// Turns byte offsets into lines and columns, in logarithmic time for each question.
package struct LineIndex: Sendable {
    private let source: [UInt8]
    /// Half the size of offsets in 64 bits: a hostile file is all line ends.
    private let starts: [UInt32]

    package init(_ source: [UInt8]) {
        self.source = source
        var starts: [UInt32] = [0]
        for (index, byte) in source.enumerated() where byte == 0x0A { starts.append(UInt32(clamping: index + 1)) }
        self.starts = starts
    }

    /// The line and the column (in characters, from 1) of a byte offset. Nil if there is no text.
    package func location(_ offset: Int) -> SourceLocation? {
        guard !source.isEmpty, offset >= 0 else { return nil }
        var low = 0
        var high = starts.count
        // Safe: both are indices of `starts`.
        while high - low > 1 {
            // Safe: both are indices of `starts`.
            let middle = (low + high) / 2
            // Safe: an Int has more bits.
            if Int(starts[middle]) <= offset { low = middle } else { high = middle }
        }
        // A line of a hostile file may be megabytes long; past this many bytes the column stops growing.
        // Safe: an Int has more bits.
        let start = Int(starts[low])
        let end = min(offset, source.count, start + 4096)
        let column = source[start..<max(start, end)].reduce(into: 1) { count, byte in
            if byte & 0xC0 != 0x80 { count += 1 }
        }
        return SourceLocation(line: low + 1, column: column)
    }
}
