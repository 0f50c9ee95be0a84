// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import Crypto
import FoundationEssentials

/// Where the simulator's keys and tokens come from: a seed, or the system.
///
/// The same seed gives the same keys, serial numbers and tokens in the same order. Signatures differ from run to run all the same,
/// because ECDSA draws a random number for each.
public struct SimulatorRandom: RandomNumberGenerator, Sendable {
    private var state: UInt64?

    /// The same sequence for the same seed (SplitMix64).
    public init(seed: UInt64) { state = seed }

    /// The system's randomness.
    public init() { state = nil }

    /// The sequence of the first eight bytes of a digest.
    package init(digest: some Sequence<UInt8>) { self.init(seed: digest.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }) }

    public mutating func next() -> UInt64 {
        guard var value = state else {
            var system = SystemRandomNumberGenerator()
            return system.next()
        }
        value &+= 0x9E37_79B9_7F4A_7C15
        state = value
        value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
        return value ^ (value >> 31)
    }

    package mutating func bytes(_ count: Int) -> [UInt8] {
        (0..<count).map { _ in UInt8.random(in: 0...255, using: &self) }
    }

    package mutating func p256() -> P256.Signing.PrivateKey {
        while true {
            if let key = try? P256.Signing.PrivateKey(rawRepresentation: bytes(32)) { return key }
        }
    }

    package mutating func p384() -> P384.Signing.PrivateKey {
        while true {
            if let key = try? P384.Signing.PrivateKey(rawRepresentation: bytes(48)) { return key }
        }
    }
}
