// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import Vocabulary

/// Reads a file of any size line by line.
package struct LineReader {
    package struct Line {
        let offset: Int
        /// Without the line feed; of a line that is too long one byte more than the limit.
        package let bytes: [UInt8]
        /// Where the next line begins.
        let end: Int
        let isEnded: Bool
        let isTooLong: Bool
    }

    /// The longest line. A result with the names of hostile certificates in it has some hundred kilobytes.
    package static let limit = 64 << 20

    /// Gives at most so many bytes from an offset on; none at the end.
    private let read: (_ offset: Int, _ count: Int) throws(InputFault) -> [UInt8]
    private let limit: Int
    private var offset: Int
    /// What was read from `offset` on, and not used yet.
    private var rest: ArraySlice<UInt8> = []

    package init(
        from offset: Int = 0, limit: Int = LineReader.limit,
        _ read: @escaping (_ offset: Int, _ count: Int) throws(InputFault) -> [UInt8]
    ) {
        self.offset = offset
        self.limit = limit
        self.read = read
    }

    /// Nil at the end of the file.
    package mutating func next() throws(InputFault) -> Line? {
        let start = offset
        var bytes: [UInt8] = []
        func line(isEnded: Bool) -> Line {
            Line(offset: start, bytes: bytes, end: offset, isEnded: isEnded, isTooLong: bytes.count > limit)
        }
        while true {
            if rest.isEmpty { rest = try read(offset, 1 << 15)[...] }
            if rest.isEmpty {
                return offset == start ? nil : line(isEnded: false)
            }
            let part = rest.prefix { $0 != 0x0A }
            bytes += part.prefix(limit + 1 - bytes.count)
            let isEnded = part.count < rest.count
            offset += part.count + (isEnded ? 1 : 0)
            rest = rest.dropFirst(part.count + (isEnded ? 1 : 0))
            if isEnded { return line(isEnded: true) }
        }
    }
}
