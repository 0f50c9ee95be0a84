// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

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
