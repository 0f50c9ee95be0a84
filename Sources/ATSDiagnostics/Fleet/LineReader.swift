// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Vocabulary

/// Reads a file of any size line by line.
struct LineReader {
    struct Line {
        let offset: Int
        /// Without the line feed; of a longer line the first ``LineReader/limit`` bytes.
        let bytes: [UInt8]
        /// Where the next line begins.
        let end: Int
        /// Whether a line feed ends it.
        let isEnded: Bool
        var isTooLong: Bool { bytes.count > LineReader.limit }
    }

    /// The longest line. A result with the names of hostile certificates in it has some hundred kilobytes.
    static let limit = 64 << 20

    /// Gives at most so many bytes from an offset on; none at the end.
    private let read: (_ offset: Int, _ count: Int) throws(InputFault) -> [UInt8]
    private var offset: Int
    /// What was read from `offset` on, and not used yet.
    private var rest: ArraySlice<UInt8> = []

    init(from offset: Int = 0, _ read: @escaping (_ offset: Int, _ count: Int) throws(InputFault) -> [UInt8]) {
        self.offset = offset
        self.read = read
    }

    /// Nil at the end of the file.
    mutating func next() throws(InputFault) -> Line? {
        let start = offset
        var bytes: [UInt8] = []
        while true {
            if rest.isEmpty { rest = try read(offset, 1 << 15)[...] }
            if rest.isEmpty {
                return offset == start ? nil : Line(offset: start, bytes: bytes, end: offset, isEnded: false)
            }
            let part = rest.prefix { $0 != 0x0A }
            bytes += part.prefix(LineReader.limit + 1 - bytes.count)
            let isEnded = part.count < rest.count
            offset += part.count + (isEnded ? 1 : 0)
            rest = rest.dropFirst(part.count + (isEnded ? 1 : 0))
            if isEnded { return Line(offset: start, bytes: bytes, end: offset, isEnded: true) }
        }
    }
}
