// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import AppAttest
package import FoundationEssentials

extension SQLTrustStore {
    package func key(_ id: KeyIdentifier) async throws -> StoredKey? {
        try await wrapped { [engine] in try await engine.key(id) }
    }

    package func attestationStanding(
        of id: KeyIdentifier, challenge: SpendableChallenge
    ) async throws -> (key: StoredKey?, isSpent: Bool) {
        let name = SpentName(challenge)
        return try await look { session in
            // One statement, so that both are of one instant.
            let row = try session.row(
                StoredKey.standing, .bytes(id.bytes), .integer(name.expiresAt), .bytes(name.bytes))
            guard let row else { throw StoreFault.damaged("a question about one key had no answer") }
            return (
                key: try row.optionalBytes(0) == nil ? nil : StoredKey(row: row),
                isSpent: try row.integer(StoredKey.columnCount) != 0
            )
        }
    }

    package func insert(
        _ registration: KeyRegistration, spending challenge: SpendableChallenge, at instant: Date
    ) async throws -> InsertOutcome {
        let name = SpentName(challenge)
        let key = registration.stored(at: instant)
        let event = StoreEvent(at: instant, app: key.app, keyId: key.id, kind: EventKind.attested)
        return try await transact { session in
            if let existing = try session.key(registration.id) {
                return .rollback(registration.outcome(against: existing))
            }
            let challenge = try session.spend(name, at: instant)
            guard try session.insert(key, refreshAt: registration.refreshAt) else {
                // Another node has committed the same key, and the challenge with it, since the first look. If it was deleted again, nothing
                // was stored, so the caller asks once more.
                guard let existing = try session.key(registration.id) else {
                    throw StoreFault.unavailable("the same key was registered and deleted meanwhile")
                }
                return .rollback(registration.outcome(against: existing))
            }
            guard challenge == .spent else {
                return .rollback(.refused(challenge == .alreadyUsed ? .challengeUsed : .challengeExpired))
            }
            // After the key, so that one which was deleted since the first look is seen here.
            if try session.hasTombstone(of: key.id) { return .rollback(.refused(.revoked)) }
            try session.insert(registration.receipt, of: key.id, at: key.attestedAt)
            try session.insert(event)
            for draw in registration.draws {
                if case .exhausted(let until) = try session.draw(draw, at: instant) {
                    return .rollback(.exhausted(until: until))
                }
            }
            return .commit(.inserted(key))
        }
    }

    package func advance(_ advance: CounterAdvance, at instant: Date) async throws -> AdvanceOutcome {
        let accepted = try await wrapped { [engine] in try await engine.accept(advance, at: instant) }
        if let accepted { return accepted }
        let name = SpentName(advance.challenge)
        let id = SQLValue.bytes(advance.keyId.bytes)
        return try await transact { session in
            guard let row = try session.row(Text.state, id) else { return .rollback(.refused(.keyUnknown)) }
            let before = try KeyState(row: row)
            // Nothing is spent for a key that accepts nothing; who is refused spends nothing in the end.
            let challenge = before.isRevoked ? .expired : try session.spend(name, at: instant)
            switch advance.decision(on: before, spending: challenge) {
            case .failure(let refusal): return .rollback(.refused(refusal))
            case .success(let after):
                let result = try session.run(Text.setState, [id] + after.changed + [.instant(instant)])
                guard result.changes == 1 else {
                    throw StoreFault.damaged("a locked key vanished")
                }
                return .commit(.advanced(previous: before.window.highest))
            }
        }
    }

    package func revoke(_ id: KeyIdentifier, code: String?, at instant: Date) async throws -> RevokeOutcome {
        try await transact { session in
            guard let row = try session.row(StoredKey.revocation, .bytes(id.bytes)) else { return .rollback(.unknown) }
            if let before = try row.optionalInteger(1) { return .rollback(.alreadyRevoked(StoreTime.date(before))) }
            try session.revoke(id, app: try row.text(0), code: code, at: instant)
            return .commit(.revoked)
        }
    }

    package func restore(
        _ id: KeyIdentifier, revokedSince start: Date, refreshAt: Date?, at instant: Date
    ) async throws -> RestoreOutcome {
        try await transact { session in
            guard let row = try session.row(StoredKey.revocation, .bytes(id.bytes)) else { return .rollback(.unknown) }
            guard let before = try row.optionalInteger(1) else { return .rollback(.notRevoked) }
            guard before >= StoreTime.milliseconds(start) else {
                return .rollback(.tooLate(StoreTime.date(before)))
            }
            let event = StoreEvent(at: instant, app: try row.text(0), keyId: id, kind: EventKind.restored)
            try session.run(Text.restore, .bytes(id.bytes), .instant(instant), .optional(refreshAt))
            try session.insert(event)
            return .commit(.restored)
        }
    }

    package func keyCount(ofUser user: String, app: String, since instant: Date) async throws -> Int {
        guard StoreText.isUser(user) else { return 0 }
        let since = StoreTime.milliseconds(instant)
        return try await read { session in
            Int(try session.row(Text.count, .text(app), .text(user), .integer(since))?.integer(0) ?? 0)
        }
    }

    fileprivate enum Text {
        static let state = SQLText("SELECT \(KeyState.columns) FROM attested_keys WHERE id = $1 {lock}")
        static let setState: SQLText =
            "UPDATE attested_keys SET counter = $2, seen = $3, largest_gap = $4, last_used_at = $5 WHERE id = $1"
        static let revoke: SQLText =
            "UPDATE attested_keys SET revoked_at = $2, next_refresh = NULL WHERE id = $1 AND revoked_at IS NULL"
        static let restore: SQLText =
            "UPDATE attested_keys SET revoked_at = NULL, restored_at = $2, next_refresh = $3 WHERE id = $1"
        static let count: SQLText =
            "SELECT count(*) FROM attested_keys WHERE app = $1 AND user_name = $2 AND attested_at >= $3"
    }
}

extension SQLSession {
    /// Revokes a key that is not revoked; false if there is none.
    @discardableResult
    func revoke(_ id: KeyIdentifier, app: String, code: String?, at instant: Date) throws -> Bool {
        guard try run(SQLTrustStore.Text.revoke, .bytes(id.bytes), .instant(instant)).changes == 1 else { return false }
        try insert(StoreEvent(at: instant, app: app, keyId: id, kind: EventKind.revoked, code: code))
        return true
    }

    func key(_ id: KeyIdentifier) throws -> StoredKey? {
        try row(StoredKey.selecting, .bytes(id.bytes)).map(StoredKey.init(row:))
    }
}

extension KeyState {
    /// The columns of a row from which a state is read.
    package static let columns = "counter, seen, largest_gap, revoked_at"

    /// Reads ``columns``, of which the first is at `offset`.
    package init(row: SQLRow, at offset: Int = 0) throws {
        self.init(
            window: CounterWindow(
                highest: try row.counter(offset), seen: UInt64(bitPattern: try row.integer(offset + 1))),
            largestGap: try row.counter(offset + 2), isRevoked: try row.optionalInteger(offset + 3) != nil)
    }

    /// The columns that an assertion changes.
    package var changed: [SQLValue] {
        [
            .integer(Int64(window.highest)), .integer(Int64(bitPattern: window.seen)), .integer(Int64(largestGap)),
        ]
    }
}

extension SQLRow {
    /// A counter column; values beyond 32 bits were not written by this program.
    func counter(_ index: Int) throws -> UInt32 {
        guard let value = UInt32(exactly: try integer(index)) else {
            throw StoreFault.damaged("a counter is too large")
        }
        return value
    }
}
