// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

/// The places of pieces in a file, by number: twelve bytes for each number that there may be, where a dictionary takes eighty while it grows.
package struct PiecePlaces: Sendable {
    private var offsets: [Int] = []
    /// One more than the bytes of the piece; 0 for none.
    private var sizes: [UInt32] = []
    private let limit: Int
    /// How many pieces are there.
    package private(set) var count = 0

    /// - Parameter limit: the numbers are below it.
    package init(limit: Int) { self.limit = limit }

    /// Keeps the place of a piece of less than 4 GiB with a new number below the limit; false for any other.
    package mutating func keep(_ place: PieceFile.Place, at number: Int) -> Bool {
        guard number >= 0, number < limit, let size = UInt32(exactly: place.count), size < .max else { return false }
        if sizes.isEmpty {
            offsets = [Int](repeating: 0, count: limit)
            sizes = [UInt32](repeating: 0, count: limit)
        }
        guard sizes[number] == 0 else { return false }
        offsets[number] = place.offset
        sizes[number] = size + 1
        count += 1
        return true
    }

    /// Takes the place of a piece out; nil if there is none with this number.
    package mutating func take(at number: Int) -> PieceFile.Place? {
        guard sizes.indices.contains(number), sizes[number] > 0 else { return nil }
        defer { sizes[number] = 0 }
        count -= 1
        return PieceFile.Place(offset: offsets[number], count: Int(sizes[number] - 1))
    }
}
