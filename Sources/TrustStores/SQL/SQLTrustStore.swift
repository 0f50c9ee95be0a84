// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

public import Foundation

/// A store in an SQL database. The verbs are written once; SQLite and PostgreSQL differ in how a transaction is run.
///
/// The modules `TrustStoresSQLite` and `TrustStoresPostgres` open one.
public struct SQLTrustStore: TrustStore {
    package let engine: any SQLEngine

    package init(engine: any SQLEngine) { self.engine = engine }

    public func close() async { await engine.close() }

    public func check() async throws {
        let name = SQLValue.text("check")
        try await engine.transact { session in
            _ = try session.run([
                SQLStatement("DELETE FROM secrets WHERE name = $1", name),
                SQLStatement("SELECT swept_until FROM horizon", arguments: []),
            ])
            return .commit(())
        }
    }

    public func secret(named name: String, orElse candidate: [UInt8]) async throws -> [UInt8] {
        try await engine.transact { session in
            let results = try session.run([
                SQLStatement(
                    "INSERT INTO secrets (name, value) VALUES ($1, $2) ON CONFLICT DO NOTHING",
                    .text(name),
                    .bytes(candidate)
                ),
                SQLStatement("SELECT value FROM secrets WHERE name = $1", .text(name)),
            ])
            guard let row = results.last?.rows.first else { throw StoreFault.damaged("a secret vanished") }
            return .commit(try row.bytes(0))
        }
    }

    public func sweep(at instant: Date, keeping retention: Retention) async throws -> SweepReport {
        let now = StoreTime.milliseconds(instant)
        let horizon = max(0, now - SpentName.slack)
        // Committed before anything goes, so that no node spends again what is about to be forgotten.
        try await engine.transact { session in
            try session.run("UPDATE horizon SET swept_until = $1 WHERE swept_until < $1", .integer(horizon))
            return .commit(())
        }
        var report = SweepReport()
        let limit = max(1, retention.rowsAtOnce)
        func delete(_ text: SQLText, upTo instant: Int64) async throws -> Int {
            let count = try await engine.transact { session in
                .commit(try session.run(text, .integer(instant), .integer(Int64(limit))).changes)
            }
            if count == limit { report.more = true }
            return count
        }
        func edge(_ duration: Duration) -> Int64 { max(0, now - StoreTime.milliseconds(duration)) }
        report.spent = try await delete(Text.sweepSpent, upTo: horizon)
        report.events = try await delete(Text.sweepEvents, upTo: edge(retention.events))
        report.tallies = try await delete(Text.sweepTallies, upTo: edge(retention.tallies))
        report.receipts = try await delete(Text.sweepReceipts, upTo: edge(retention.receipts))
        report.promotionAnswers = try await delete(Text.sweepPromotions, upTo: edge(retention.promotionAnswers))
        return report
    }

    /// Statements of this file. Each deletes what lies before `$1`, at most `$2` rows.
    private enum Text {
        static let sweepSpent: SQLText = """
            DELETE FROM spent WHERE (expires_at, name) IN
            (SELECT expires_at, name FROM spent WHERE expires_at <= $1 ORDER BY expires_at LIMIT $2)
            """
        static let sweepEvents: SQLText = """
            DELETE FROM events WHERE id IN (SELECT id FROM events WHERE at < $1 ORDER BY at LIMIT $2)
            """
        static let sweepTallies: SQLText = """
            DELETE FROM tallies WHERE (app, hour, kind, code) IN
            (SELECT app, hour, kind, code FROM tallies WHERE hour < $1 LIMIT $2)
            """
        static let sweepReceipts: SQLText = """
            DELETE FROM receipts WHERE (key_id, created_at) IN
            (SELECT key_id, created_at FROM receipts AS old WHERE stored_at < $1 AND EXISTS
            (SELECT 1 FROM receipts AS newer WHERE newer.key_id = old.key_id AND newer.created_at > old.created_at)
            LIMIT $2)
            """
        static let sweepPromotions: SQLText = """
            DELETE FROM promotions WHERE (promotion, app, subject, transaction_id) IN
            (SELECT promotion, app, subject, transaction_id FROM promotions WHERE answered_at < $1 LIMIT $2)
            """
    }
}
