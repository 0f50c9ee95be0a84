// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import AppAttest
package import Foundation

extension SQLTrustStore {
    package func key(_ id: KeyIdentifier) async throws -> StoredKey? {
        try await engine.look { session in try session.key(id) }
    }

    package func attestationStanding(
        of id: KeyIdentifier, challenge: SpendableChallenge
    ) async throws -> AttestationStanding {
        let name = SpentName(challenge)
        return try await engine.look { session in try session.standing(of: id, name) }
    }

    package func insert(
        _ registration: KeyRegistration, spending challenge: SpendableChallenge, at instant: Date
    ) async throws -> InsertOutcome {
        let name = SpentName(challenge)
        let key = registration.stored(at: instant)
        let event = StoreEvent(at: instant, app: key.app, keyId: key.id, kind: EventKind.attested)
        return try await engine.transact { session in
            if let existing = try session.key(registration.id) {
                return .rollback(registration.outcome(against: existing))
            }
            guard name.expiresAt > StoreTime.milliseconds(instant) else {
                // Both at one instant: between two looks another node could commit this key with its challenge.
                let standing = try session.standing(of: registration.id, name)
                if let existing = standing.key { return .rollback(registration.outcome(against: existing)) }
                return .rollback(.refused(standing.isSpent ? .challengeUsed : .challengeExpired))
            }
            let results = try session.run([
                name.spending, key.inserting(refreshAt: registration.refreshAt),
                StoredReceipt(keyId: key.id, receipt: registration.receipt, storedAt: key.attestedAt).inserting,
                event.inserting,
            ])
            // Another node may have committed the same key since the first look.
            if results[1].changes == 0, let existing = try session.key(registration.id) {
                return .rollback(registration.outcome(against: existing))
            }
            if results[0].changes == 0 {
                return .rollback(.refused(try session.isSpent(name) ? .challengeUsed : .challengeExpired))
            }
            for draw in registration.draws {
                if case .exhausted(let until) = try session.draw(draw, at: instant) {
                    return .rollback(.exhausted(until: until))
                }
            }
            return .commit(.inserted(key))
        }
    }

    package func advance(_ advance: CounterAdvance, at instant: Date) async throws -> AdvanceOutcome {
        let now = StoreTime.milliseconds(instant)
        let name = SpentName(advance.challenge)
        let id = SQLValue.bytes(advance.keyId.bytes)
        let select = SQLStatement(Text.state, id)
        let current = name.expiresAt > now
        switch advance.mode {
        case .strict:
            if current {
                let row: [SQLValue] = [
                    id, .integer(Int64(advance.counter)), .integer(now), .integer(name.expiresAt), .bytes(name.bytes),
                    .bytes(advance.expecting?.attestationDigest ?? []),
                    .integer(Int64(advance.expecting?.largestGap ?? 0)),
                    .integer(Int64(advance.expecting?.riskMetric ?? Text.noMetric)),
                ]
                // Most are accepted, and together; why one is not is found out by itself.
                if let accepted = try await engine.join(row, in: Text.advanceMany) {
                    return .advanced(previous: try accepted.counter(1))
                }
            }
            let update = SQLStatement(Text.advance, id, .integer(Int64(advance.counter)), .integer(now))
            return try await engine.transact { session in
                let results = try session.run(current ? [select, name.spending, update] : [select])
                guard let row = results[0].rows.first else { return .rollback(.refused(.keyUnknown)) }
                if current, try !row.contradicts(advance.expecting), results[1].changes == 1, results[2].changes == 1 {
                    return .commit(.advanced(previous: try row.counter(0)))
                }
                if try row.optionalInteger(2) != nil { return .rollback(.refused(.revoked)) }
                if try row.contradicts(advance.expecting) { return .rollback(.changed) }
                if !current || results[1].changes == 0 {
                    // In the transaction itself the name may be our own row, which the rollback takes back.
                    let isSpent = try session.isSpent(name)
                    return .rollback(.refused(isSpent ? .challengeUsed : .challengeExpired))
                }
                return .rollback(.refused(.replayed))
            }
        case .challenge:
            return try await engine.transact { session in
                guard let row = try session.run([select])[0].rows.first else {
                    return .rollback(.refused(.keyUnknown))
                }
                if try row.optionalInteger(2) != nil { return .rollback(.refused(.revoked)) }
                if try row.contradicts(advance.expecting) { return .rollback(.changed) }
                guard current, try session.run([name.spending])[0].changes == 1 else {
                    let isSpent = try session.isSpent(name)
                    return .rollback(.refused(isSpent ? .challengeUsed : .challengeExpired))
                }
                let before = CounterWindow(highest: try row.counter(0), seen: UInt64(bitPattern: try row.integer(1)))
                guard let after = advance.window(after: before) else { return .rollback(.refused(.replayed)) }
                let gap = after.highest > before.highest ? Int64(after.highest - before.highest) - 1 : 0
                let update = SQLStatement(
                    Text.setWindow, id, .integer(Int64(after.highest)), .integer(Int64(bitPattern: after.seen)),
                    .integer(max(gap, try row.integer(3))), .integer(now))
                guard try session.run([update])[0].changes == 1 else {
                    throw StoreFault.damaged("a locked key vanished")
                }
                return .commit(.advanced(previous: before.highest))
            }
        }
    }

    package func revoke(_ id: KeyIdentifier, code: String?, at instant: Date) async throws -> RevokeOutcome {
        try await engine.transact { session in
            guard
                let row = try session.row(
                    "SELECT app, revoked_at FROM attested_keys WHERE id = $1 {lock}", .bytes(id.bytes))
            else { return .rollback(.unknown) }
            if let before = try row.optionalInteger(1) { return .rollback(.alreadyRevoked(StoreTime.date(before))) }
            let event = StoreEvent(at: instant, app: try row.text(0), keyId: id, kind: EventKind.revoked, code: code)
            _ = try session.run([
                SQLStatement(Text.revoke, .bytes(id.bytes), .integer(StoreTime.milliseconds(instant))),
                event.inserting,
            ])
            return .commit(.revoked)
        }
    }

    package func keyCount(ofUser user: String, app: String, since instant: Date) async throws -> Int {
        guard StoreText.isUser(user) else { return 0 }
        let since = StoreTime.milliseconds(instant)
        return try await engine.read { session in
            Int(try session.row(Text.count, .text(app), .text(user), .integer(since))?.integer(0) ?? 0)
        }
    }

    /// Statements of this file.
    private enum Text {
        static let state: SQLText = """
            SELECT counter, seen, revoked_at, largest_gap, attestation_digest, risk_metric
            FROM attested_keys WHERE id = $1 {lock}
            """
        static let advance = SQLText(
            "UPDATE attested_keys SET \(advancing("$2", at: "$3")) WHERE id = $1 AND counter < $2 AND revoked_at IS NULL"
        )
        static func advancing(_ counter: String, at now: String) -> String {
            """
            counter = \(counter), seen = -1, last_used_at = \(now),
            largest_gap = CASE WHEN \(counter) - counter - 1 > largest_gap THEN \(counter) - counter - 1 ELSE largest_gap END
            """
        }
        /// What stands for a missing metric where NULL cannot: no receipt has a metric below zero.
        static let noMetric = -1
        /// What a caller may expect of a key: digest, largest gap, metric.
        static let facts = ["attestation_digest", "largest_gap", "COALESCE(risk_metric, \(noMetric))"]
        /// Whether these are what the caller expects; an empty digest expects nothing.
        static func isExpected(_ facts: [String], _ expected: [String]) -> String {
            "(length(\(expected[0])) = 0 OR (\(facts.joined(separator: ", "))) = (\(expected.joined(separator: ", "))))"
        }
        /// The same for many callers, with the spending of their challenges. The columns: key, counter, instant, when the challenge expires, its
        /// name, and what the caller expects of the key: digest (empty if nothing), largest gap, metric.
        static let advanceMany = SharedStatement(
            sqlite: [
                """
                SELECT 1, counter FROM attested_keys WHERE id = ?1 AND counter < ?2 AND revoked_at IS NULL
                AND \(SpentName.mayBeSpent("?4"))
                AND NOT EXISTS (SELECT 1 FROM spent_names WHERE expires_at = ?4 AND name = ?5)
                AND \(isExpected(facts, ["?6", "?7", "?8"]))
                """,
                "INSERT INTO spent_names (expires_at, name) VALUES (?4, ?5)",
                "UPDATE attested_keys SET \(advancing("?2", at: "?3")) WHERE id = ?1",
            ],
            postgres: advanceManyInPostgres
        )
        /// Takes lists. Passes over keys that somebody else has locked, and over all but one with the same key or name.
        ///
        /// What it has locked is as it was committed last. A name is spent only for a key that is locked and may advance, and a key advances
        /// only if its name was spent here. Names are spent in their order, and no key is waited for, so nobody waits in a circle.
        private static let advanceManyInPostgres = """
            WITH asked AS MATERIALIZED (
            SELECT DISTINCT ON (name) * FROM (
            SELECT DISTINCT ON (key_id) * FROM unnest(
            $1::bytea[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bytea[], $6::bytea[], $7::bigint[], $8::bigint[]
            ) WITH ORDINALITY AS given (key_id, signed, now, expires_at, name, digest, gap, metric, number)
            ORDER BY key_id, signed
            ) AS each_key ORDER BY name
            ), held AS MATERIALIZED (
            SELECT id AS key_id, counter AS before, \(facts[0]) AS own_digest, \(facts[1]) AS own_gap, \(facts[2]) AS own_metric
            FROM attested_keys WHERE id = ANY($1) AND revoked_at IS NULL
            FOR UPDATE SKIP LOCKED
            ), spent AS (
            \(SpentName.inserting("""
            SELECT expires_at, name FROM asked JOIN held USING (key_id)
            WHERE before < signed AND \(SpentName.mayBeSpent("expires_at"))
            AND \(isExpected(["own_digest", "own_gap", "own_metric"], ["digest", "gap", "metric"])) ORDER BY expires_at, name
            """)) RETURNING expires_at, name
            )
            UPDATE attested_keys SET \(advancing("signed", at: "now"))
            FROM asked JOIN held USING (key_id) JOIN spent USING (expires_at, name) WHERE id = key_id RETURNING number, before
            """
        static let setWindow: SQLText =
            "UPDATE attested_keys SET counter = $2, seen = $3, largest_gap = $4, last_used_at = $5 WHERE id = $1"
        static let revoke: SQLText = "UPDATE attested_keys SET revoked_at = $2, next_refresh = NULL WHERE id = $1"
        static let count: SQLText =
            "SELECT count(*) FROM attested_keys WHERE app = $1 AND user_name = $2 AND attested_at >= $3"
    }
}

extension SQLSession {
    func key(_ id: KeyIdentifier) throws -> StoredKey? {
        try row(StoredKey.selecting, .bytes(id.bytes)).map(StoredKey.init(row:))
    }

    /// One statement, so that both are of one instant.
    func standing(of id: KeyIdentifier, _ name: SpentName) throws -> AttestationStanding {
        let row = try row(StoredKey.standing, .bytes(id.bytes), .integer(name.expiresAt), .bytes(name.bytes))
        guard let row else { throw StoreFault.damaged("a question about one key had no answer") }
        return AttestationStanding(
            key: try row.optionalBytes(0) == nil ? nil : StoredKey(row: row),
            isSpent: try row.integer(StoredKey.columnCount) != 0)
    }
}

extension SQLRow {
    /// Whether the columns of `Text.state` are not what a caller expects of the key.
    fileprivate func contradicts(_ expected: KeyExpectation?) throws -> Bool {
        guard let expected else { return false }
        return try bytes(4) != expected.attestationDigest || integer(3) != Int64(expected.largestGap)
            || optionalInteger(5) != expected.riskMetric.map(Int64.init)
    }

    /// A counter column; values beyond 32 bits were not written by this program.
    func counter(_ index: Int) throws -> UInt32 {
        guard let value = UInt32(exactly: try integer(index)) else {
            throw StoreFault.damaged("a counter is too large")
        }
        return value
    }
}
