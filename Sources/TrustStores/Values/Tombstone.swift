// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import Crypto
import FoundationEssentials

/// What is left of a revoked key that was deleted, so that it stays refused: a hash of its id and the day of its revocation.
struct Tombstone: Sendable, Equatable {
    /// SHA-256 of the id, whose beginning the list of revoked keys has too. An id is a hash of random bits, so nobody finds it by guessing.
    let name: [UInt8]
    /// The start of the day, in milliseconds.
    let day: Int64

    init(_ id: KeyIdentifier, revokedAt instant: Int64) {
        name = Tombstone.name(of: id)
        day = Tombstone.day(of: instant)
    }

    static func name(of id: KeyIdentifier) -> [UInt8] { Array(SHA256.hash(data: id.bytes)) }

    static func day(of instant: Int64) -> Int64 { instant - instant % millisecondsPerDay }

    /// When it was revoked at the latest: the end of the day.
    static func latest(_ day: Int64) -> Int64 { day + millisecondsPerDay - 1 }

    private static let millisecondsPerDay: Int64 = 86_400_000
}
