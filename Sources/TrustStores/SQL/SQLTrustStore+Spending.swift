// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import Foundation

extension SQLTrustStore {
    package func spend(_ challenge: SpendableChallenge, at instant: Date) async throws -> SpendOutcome {
        try await spend(SpentName(challenge), at: instant)
    }

    package func consume(_ token: SingleUseToken, at instant: Date) async throws -> SpendOutcome {
        try await spend(SpentName(token), at: instant)
    }

    package func isSpent(_ challenge: SpendableChallenge) async throws -> Bool {
        let name = SpentName(challenge)
        return try await engine.look { session in try session.isSpent(name) }
    }

    private func spend(_ name: SpentName, at instant: Date) async throws -> SpendOutcome {
        try await engine.transact { session in
            if name.expiresAt > StoreTime.milliseconds(instant), try session.run([name.spending]).first?.changes == 1 {
                return .commit(.spent)
            }
            return .rollback(try session.isSpent(name) ? .alreadyUsed : .expired)
        }
    }
}

extension SpentName {
    /// Inserts the name unless it is there or may have been swept: one row changed means that this transaction spends it.
    var spending: SQLStatement { SQLStatement(SpentName.spend, .integer(expiresAt), .bytes(bytes)) }

    static let find: SQLText = "SELECT 1 FROM spent_names WHERE expires_at = $1 AND name = $2"

    private static let spend = SQLText(inserting("SELECT $1, $2 WHERE \(mayBeSpent("$1"))"))

    /// Inserts rows of an expiry and a name that are not there yet.
    static func inserting(_ rows: String) -> String {
        "INSERT INTO spent_names (expires_at, name) \(rows) ON CONFLICT DO NOTHING"
    }

    /// Whether a name with this expiry would still be there if it had been spent.
    static func mayBeSpent(_ expiry: String) -> String {
        "\(expiry) > (SELECT swept_until FROM store_clock WHERE one = 1)"
    }
}

extension SQLSession {
    func isSpent(_ name: SpentName) throws -> Bool {
        try row(SpentName.find, .integer(name.expiresAt), .bytes(name.bytes)) != nil
    }
}
