// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import Crypto
import FoundationEssentials

/// What is left of a revoked key that was deleted, so that it stays refused: a hash of its id and the day of its revocation.
struct Tombstone: Sendable, Equatable {
    /// SHA-256 of the id, in a form that nothing else uses. An id is a hash of random bits, so nobody finds it by guessing.
    let name: [UInt8]
    /// The start of the day, in milliseconds.
    let day: Int64

    init(_ id: KeyIdentifier, revokedAt instant: Int64) {
        name = Tombstone.name(of: id)
        day = instant - instant % 86_400_000
    }

    static func name(of id: KeyIdentifier) -> [UInt8] {
        Array(SHA256.hash(data: Array("sealward tombstone\0".utf8) + id.bytes))
    }
}
