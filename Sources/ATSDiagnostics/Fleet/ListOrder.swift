// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Vocabulary

/// One of several parts of a list, for as many machines: every target is in exactly one, whatever its place in the list.
package struct Shard: Sendable, Equatable {
    /// From 1 to ``count``.
    package let number: Int
    package let count: Int

    /// The most parts: more machines than that are not in one place.
    package static let limit = 65_536

    /// Reads `I/N`; nil for anything else.
    package init?(_ text: String) {
        let parts = text.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        guard parts.count == 2, let number = Shard.number(parts[0]), let count = Shard.number(parts[1]) else {
            return nil
        }
        self.init(number, of: count)
    }

    /// Nil unless `number` is from 1 to `count`.
    package init?(_ number: Int, of count: Int) {
        guard count >= 1, count <= Shard.limit, number >= 1, number <= count else { return nil }
        self.number = number
        self.count = count
    }

    /// Whether a target is in this part, by its bytes alone: FNV-1a of 64 bits, mixed once more so that its low bits are as good as the rest.
    package func contains(_ identity: [UInt8]) -> Bool {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in identity { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
        hash = (hash ^ (hash >> 33)) &* 0xFF51_AFD7_ED55_8CCD
        hash ^= hash >> 33
        return hash % UInt64(count) == UInt64(number - 1)
    }

    private static func number(_ digits: Substring.UTF8View) -> Int? { Substring(digits).decimalNumber(digits: 5) }
}

/// An order that asks the servers of a list in no order of their own: shuffled within blocks, so that a run still goes through its list from
/// the start to the end. The same seed gives the same order.
package struct ShuffledOrder: Sendable {
    package let seed: UInt64

    /// How many places are shuffled together.
    package static let block = 4096

    package init(seed: UInt64) { self.seed = seed }

    package func order(_ places: [UInt32]) -> [UInt32] {
        var random = Generator(state: seed)
        var result: [UInt32] = []
        result.reserveCapacity(places.count)
        for start in stride(from: 0, to: places.count, by: ShuffledOrder.block) {
            result += places[start..<min(places.count, start + ShuffledOrder.block)].shuffled(using: &random)
        }
        return result
    }

    /// SplitMix64 (Steele, Lea and Flood, 2014).
    private struct Generator: RandomNumberGenerator {
        var state: UInt64

        mutating func next() -> UInt64 {
            state &+= 0x9E37_79B9_7F4A_7C15
            var mixed = state
            mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
            mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
            return mixed ^ (mixed >> 31)
        }
    }
}
