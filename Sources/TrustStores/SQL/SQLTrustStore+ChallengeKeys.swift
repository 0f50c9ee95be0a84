// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import FoundationEssentials

extension SQLTrustStore {
    package func challengeKeys(orElse candidate: [UInt8], at instant: Date) async throws -> [ChallengeKey] {
        let stored = try await look { session in try session.challengeKeys() }
        if !stored.isEmpty { return stored }
        return try await transact { session in
            try session.run(Text.first, .bytes(candidate), .instant(instant))
            return .commit(try session.challengeKeys())
        }
    }

    package func rotateChallengeKey(_ rotation: ChallengeKeyRotation, at instant: Date) async throws -> RotationOutcome
    {
        let now = StoreTime.milliseconds(instant)
        return try await transact { session in
            // Others that rotate wait here.
            try session.run(Text.lock)
            let keys = try session.challengeKeys().filter { $0.acceptedUntil.map { $0 > instant } ?? true }
            guard let newest = keys.first else { throw StoreFault.damaged("there is no challenge key to replace") }
            if newest.signsFrom > instant { return .rollback(.tooSoon(until: newest.signsFrom)) }
            if keys.count >= ChallengeKey.limit {
                return .rollback(.tooSoon(until: keys.compactMap(\.acceptedUntil).min() ?? rotation.acceptsOldUntil))
            }
            try session.run(Text.forget, .integer(now))
            try session.run(Text.retire, .instant(rotation.acceptsOldUntil))
            try session.run(
                Text.insert, .integer(Int64(newest.generation + 1)), .bytes(rotation.secret), .integer(now),
                .instant(rotation.signsFrom))
            return .commit(.rotated(generation: newest.generation + 1))
        }
    }

    private enum Text {
        /// A store of the first version has its one key among the secrets.
        static let first = SQLText(
            """
            INSERT INTO challenge_keys (generation, value, created_at, signs_from)
            SELECT 1, coalesce((SELECT value FROM store_secrets WHERE name = '\(ChallengeCodec.secretName)'), $1), $2, 0
            WHERE NOT EXISTS (SELECT 1 FROM challenge_keys) ON CONFLICT DO NOTHING
            """
        )
        static let lock: SQLText = "SELECT one FROM store_clock WHERE one = 1 {lock}"
        static let forget: SQLText = "DELETE FROM challenge_keys WHERE accepted_until <= $1"
        static let retire: SQLText = "UPDATE challenge_keys SET accepted_until = $1 WHERE accepted_until IS NULL"
        static let insert: SQLText = """
            INSERT INTO challenge_keys (generation, value, created_at, signs_from) VALUES ($1, $2, $3, $4)
            """
    }
}

extension SQLSession {
    /// Newest first.
    fileprivate func challengeKeys() throws -> [ChallengeKey] {
        try run("SELECT generation, value, signs_from, accepted_until FROM challenge_keys ORDER BY generation DESC")
            .rows.map { row in
                ChallengeKey(
                    generation: Int(try row.integer(0)), secret: try row.bytes(1), signsFrom: try row.date(2),
                    acceptedUntil: try row.optionalDate(3))
            }
    }
}
