// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import FoundationEssentials

extension SQLTrustStore {
    package func spend(_ challenge: SpendableChallenge, at instant: Date) async throws -> SpendOutcome {
        let name = SpentName(challenge)
        return try await transact { session in try session.end(spending: name, at: instant) }
    }

    package func consume(_ token: SingleUseToken, at instant: Date) async throws -> SpendOutcome {
        let name = SpentName(token)
        return try await transact { session in try session.end(spending: name, at: instant) }
    }

    package func isSpent(_ challenge: SpendableChallenge) async throws -> Bool {
        let name = SpentName(challenge)
        return try await look { session in try session.isSpent(name) }
    }
}

extension SpentName {
    /// Inserts the name unless it is there or may have been swept: one row changed means that this transaction spends it.
    var spending: SQLStatement { SQLStatement(SpentName.spend, .integer(expiresAt), .bytes(bytes)) }

    static let find: SQLText = "SELECT 1 FROM spent_names WHERE expires_at = $1 AND name = $2"

    private static let spend: SQLText = """
        INSERT INTO spent_names (expires_at, name)
        SELECT $1, $2 WHERE $1 > (SELECT swept_until FROM store_clock WHERE one = 1) ON CONFLICT DO NOTHING
        """
}

extension SQLSession {
    /// Spends the name in the transaction that is open; what is not spent changed nothing.
    func spend(_ name: SpentName, at instant: Date) throws -> SpendOutcome {
        if name.expiresAt > StoreTime.milliseconds(instant), try run(name.spending).changes == 1 {
            return .spent
        }
        return try isSpent(name) ? .alreadyUsed : .expired
    }

    /// Spends the name, and nothing else, in a transaction of its own.
    fileprivate func end(spending name: SpentName, at instant: Date) throws -> SQLEnd<SpendOutcome> {
        let outcome = try spend(name, at: instant)
        return outcome == .spent ? .commit(outcome) : .rollback(outcome)
    }

    func isSpent(_ name: SpentName) throws -> Bool {
        try row(SpentName.find, .integer(name.expiresAt), .bytes(name.bytes)) != nil
    }
}
