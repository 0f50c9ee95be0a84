// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

/// The places of pieces in a file, by number: twelve bytes for each number near one that is there, where a dictionary takes eighty while it
/// grows.
package struct PiecePlaces: Sendable {
    /// The places of neighboring numbers.
    private struct Block {
        var offsets = [Int](repeating: 0, count: PiecePlaces.blockSize)
        /// One more than the bytes of the piece; 0 for none.
        var sizes = [UInt32](repeating: 0, count: PiecePlaces.blockSize)
        var count = 0

        mutating func keep(offset: Int, size: UInt32, at index: Int) -> Bool {
            guard sizes[index] == 0 else { return false }
            (offsets[index], sizes[index]) = (offset, size)
            count += 1
            return true
        }

        mutating func take(at index: Int) -> PieceFile.Place? {
            guard sizes[index] > 0 else { return nil }
            defer { sizes[index] = 0 }
            count -= 1
            return PieceFile.Place(offset: offsets[index], count: Int(sizes[index] - 1))
        }
    }

    /// Those that have a piece, by their first number divided by their size. Pieces come and go in the order of their numbers, more or less, so
    /// that few are there at a time.
    private var blocks: [Int: Block] = [:]
    private static let blockSize = 4096
    private let limit: Int
    /// How many pieces are there.
    package private(set) var count = 0

    /// - Parameter limit: the numbers are below it.
    package init(limit: Int) { self.limit = limit }

    /// Keeps the place of a piece of less than 4 GiB with a new number below the limit; false for any other.
    package mutating func keep(_ place: PieceFile.Place, at number: Int) -> Bool {
        guard number >= 0, number < limit, let size = UInt32(exactly: place.count), size < .max else { return false }
        let (block, index) = number.quotientAndRemainder(dividingBy: PiecePlaces.blockSize)
        let isNew = blocks[block, default: Block()].keep(offset: place.offset, size: size + 1, at: index)
        if isNew { count += 1 }
        return isNew
    }

    /// Takes the place of a piece out; nil if there is none with this number.
    package mutating func take(at number: Int) -> PieceFile.Place? {
        guard number >= 0 else { return nil }
        let (block, index) = number.quotientAndRemainder(dividingBy: PiecePlaces.blockSize)
        guard let place = blocks[block]?.take(at: index) else { return nil }
        if blocks[block]?.count == 0 { blocks[block] = nil }
        count -= 1
        return place
    }
}
