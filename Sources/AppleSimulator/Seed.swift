// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Crypto
import FoundationEssentials

/// Everything that looks random in the simulator, derived from one number, so that a run can be repeated.
///
/// Each value has its own label: a new kind of value changes none of the others.
struct Seed: Sendable {
    let value: UInt64

    /// 32 bytes for a label.
    func bytes(_ label: String) -> [UInt8] {
        Array(SHA256.hash(data: Array("sealward simulator \(value) \(label)".utf8)))
    }

    /// A P-256 private key for a label.
    func signingKey(_ label: String) -> P256.Signing.PrivateKey {
        // One value in 2^32 is no scalar of the curve; the next label then is.
        for attempt in 0..<64 {
            if let key = try? P256.Signing.PrivateKey(rawRepresentation: bytes("\(label) key \(attempt)")) {
                return key
            }
        }
        return P256.Signing.PrivateKey()
    }

    /// A number from 0 up to 1 for a label.
    func fraction(_ label: String) -> Double {
        let word = bytes(label).prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        return Double(word >> 11) / Double(UInt64(1) << 53)
    }
}
