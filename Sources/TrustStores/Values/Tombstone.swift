// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import Crypto
import FoundationEssentials

/// What is left of a revoked key that was deleted, so that it stays refused: a keyed hash of its id and the day of its revocation.
struct Tombstone: Sendable, Equatable {
    /// The names under which it is stored: the keyed one, and for a while the ``mark(of:)``; the ``hash(of:)`` in a store without the secret.
    let names: [[UInt8]]
    /// The start of the day, in milliseconds.
    let day: Int64

    /// - Parameter secret: that of the store's audit.
    init(_ id: KeyIdentifier, revokedAt instant: Int64, secret: [UInt8]?) {
        names = secret.map { [Tombstone.name(of: id, $0), Tombstone.mark(of: id)] } ?? [Tombstone.hash(of: id)]
        day = Tombstone.day(of: instant)
    }

    /// The name that lasts: a byte, so that no hash without a key has this form, and an HMAC.
    static func name(of id: KeyIdentifier, _ secret: [UInt8]) -> [UInt8] {
        [1] + AuditChain.code(Array("sealward tombstone ".utf8) + id.bytes, AuditChain.lasting(secret))
    }

    /// The name in stores of 0.2.0.
    static func hash(of id: KeyIdentifier) -> [UInt8] { Array(SHA256.hash(data: id.bytes)) }

    /// What the list of revoked keys has, while a token of the key may live.
    static func mark(of id: KeyIdentifier) -> [UInt8] { Array(hash(of: id).prefix(markLength)) }

    /// The bytes of a mark.
    static let markLength = 12
    /// How long a mark is kept: longer than any token lives.
    static let markLife: Duration = .seconds(9 * 86_400)

    static func day(of instant: Int64) -> Int64 { instant - instant % millisecondsPerDay }

    /// When it was revoked at the latest: the end of the day.
    static func latest(_ day: Int64) -> Int64 { day + millisecondsPerDay - 1 }

    private static let millisecondsPerDay: Int64 = 86_400_000
}
