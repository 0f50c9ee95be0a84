// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import FoundationEssentials
import TrustStores

/// Assertions of many callers that are accepted in one transaction. Made, filled and answered by one thread.
///
/// A transaction for each would cost the server five answers and a commit; here all together cost that. Nothing is refused here: who is
/// not accepted has a transaction alone, which gives the reason. So a locked key, a used challenge or a statement that fails cost the
/// others nothing but one try.
final class AdvanceBatch: @unchecked Sendable {
    private var asked: [(advance: CounterAdvance, instant: Date)] = []
    /// The counters before those that were accepted, by the number of the assertion.
    private var accepted: [Int: UInt32] = [:]

    /// Adds an assertion; gives what reads its outcome when the transaction is over.
    func add(_ advance: CounterAdvance, at instant: Date) -> @Sendable () -> AdvanceOutcome? {
        asked.append((advance, instant))
        let number = asked.count - 1
        return { self.accepted[number].map { .advanced(previous: $0) } }
    }

    /// Accepts what can be accepted. May run again after a conflict or on another connection.
    func run(on connection: PostgresConnection, _ facts: PostgresFacts) throws {
        do {
            try accept(on: connection)
        } catch let refusal as StoreFault {
            // Nothing of it was done for anybody: each is tried alone.
            facts.observe(.batchRefused, refusal.reason)
            accepted = [:]
        }
    }

    /// A key that somebody else has locked is passed over, and names are spent in their order, so nobody waits in a circle.
    private func accept(on connection: PostgresConnection) throws {
        accepted = [:]
        try connection.transaction(setting: "SET LOCAL lock_timeout = 1000") { connection -> SQLEnd<Void> in
            let locked = try rows(connection, Text.lock, asked.map { [.bytes($0.advance.keyId.bytes)] })
            let keys = try Dictionary(locked.map { (try $0.bytes(0), try KeyState(row: $0, at: 1)) }) { $1 }
            var names: [[UInt8]: (number: Int, expiresAt: Int64, before: KeyState, after: KeyState)] = [:]
            var taken: Set<KeyIdentifier> = []
            for (number, (advance, instant)) in asked.enumerated() {
                let name = SpentName(advance.challenge)
                guard name.expiresAt > StoreTime.milliseconds(instant), names[name.bytes] == nil,
                    let before = keys[advance.keyId.bytes],
                    case .success(let after) = advance.decision(on: before, spending: .spent),
                    taken.insert(advance.keyId).inserted
                else { continue }
                names[name.bytes] = (number, name.expiresAt, before, after)
            }
            let spent = try rows(connection, Text.spend, names.map { [.integer($0.value.expiresAt), .bytes($0.key)] })
            let good = try spent.compactMap { names[try $0.bytes(0)] }
            let changed = try rows(
                connection, Text.set,
                good.map { name in
                    let (advance, instant) = asked[name.number]
                    return [.bytes(advance.keyId.bytes)] + name.after.changed
                        + [.integer(StoreTime.milliseconds(instant))]
                }
            )
            guard changed.count == good.count else { throw StoreFault.damaged("a locked key vanished") }
            for name in good { accepted[name.number] = name.before.window.highest }
            return good.isEmpty ? .rollback(()) : .commit(())
        }
    }

    private func rows(_ connection: PostgresConnection, _ text: String, _ rows: [[SQLValue]]) throws -> [SQLRow] {
        rows.isEmpty ? [] : try connection.run(text, PostgresArguments(columnsOf: rows)).rows
    }

    private enum Text {
        static let lock = "SELECT id, \(KeyState.columns) FROM attested_keys WHERE id = ANY($1) FOR UPDATE SKIP LOCKED"
        static let spend = """
            INSERT INTO spent_names (expires_at, name) SELECT * FROM unnest($1, $2) AS given (expires_at, name)
            WHERE expires_at > (SELECT swept_until FROM store_clock WHERE one = 1) ORDER BY expires_at, name
            ON CONFLICT DO NOTHING RETURNING name
            """
        static let set = """
            UPDATE attested_keys SET counter = given.counter, seen = given.seen, largest_gap = given.gap, last_used_at = given.now
            FROM unnest($1, $2, $3, $4, $5) AS given (key_id, counter, seen, gap, now) WHERE id = key_id RETURNING id
            """
    }
}
