// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import Foundation
import TestSupport
import Testing
import TrustStoreContract
import Vocabulary

@testable import TrustStores
@testable import TrustStoresPostgres

/// One statement of the first version's program.
struct OldStatement: Sendable {
    let text: SQLText
    let arguments: [SQLValue]

    init(_ text: SQLText, _ arguments: [SQLValue]) {
        self.text = text
        self.arguments = arguments
    }
}

/// What a running node of the first version may still do after the second migrated the store: read.
@Suite struct FenceTests {
    /// The statements of the first version that write, as they stood in its program, with arguments that fit the fixture.
    static let writes: [OldStatement] = [
        OldStatement(
            """
            INSERT INTO spent (expires_at, name) SELECT $1, $2 WHERE $1 > (SELECT swept_until FROM horizon WHERE one = 1)
            ON CONFLICT DO NOTHING
            """,
            [.integer(1_795_000_900_000), .bytes([1, 2])]
        ),
        OldStatement(
            """
            UPDATE keys SET counter = $2, seen = -1, last_used_at = $3,
            largest_gap = CASE WHEN $2 - counter - 1 > largest_gap THEN $2 - counter - 1 ELSE largest_gap END
            WHERE id = $1 AND counter < $2 AND revoked_at IS NULL
            """,
            [id, .integer(50), .integer(5)]
        ),
        OldStatement(
            "UPDATE keys SET counter = $2, seen = $3, largest_gap = $4, last_used_at = $5 WHERE id = $1",
            [id, .integer(50), .integer(1), .integer(1), .integer(1)]),
        OldStatement(
            """
            INSERT INTO keys (id, public_key, app, identity, environment, simulated, user_name, attestation_digest,
            validation_category, bundle_version, os_version, attested_at, risk_metric, next_refresh, counter, seen,
            largest_gap, leased_until, fence, failures)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, 0, 1, 0, 0, 0, 0) ON CONFLICT DO NOTHING
            """,
            [
                .bytes(Array(repeating: 9, count: 32)), .bytes([4]), .text("app"), .text("i"), .text("production"),
                .integer(0), .null, .bytes([1]), .null, .null, .null, .integer(1), .null, .null,
            ]
        ),
        OldStatement("UPDATE keys SET revoked_at = $2, next_refresh = NULL WHERE id = $1", [id, .integer(1)]),
        OldStatement("UPDATE keys SET leased_until = $2, fence = fence + 1 WHERE id = $1", [id, .integer(1)]),
        OldStatement("UPDATE keys SET risk_metric = $2 WHERE id = $1", [id, .integer(1)]),
        OldStatement(
            "UPDATE keys SET next_refresh = $2, failures = $3, leased_until = 0, fence = fence + 1 WHERE id = $1",
            [id, .integer(1), .integer(1)]),
        OldStatement(
            """
            INSERT INTO receipts (key_id, created_at, stored_at, bytes, not_before, expires_at, risk_metric)
            VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT DO NOTHING
            """,
            [id, .integer(1), .integer(1), .bytes([1]), .null, .null, .null]
        ),
        OldStatement(
            "INSERT INTO events (at, app, key_id, kind, code, detail) VALUES ($1, $2, $3, $4, $5, $6)",
            [.integer(1), .text("app"), id, .text("k"), .null, .null]),
        OldStatement(
            """
            INSERT INTO tallies (app, hour, kind, code, count) VALUES ($1, $2, $3, $4, $5)
            ON CONFLICT (app, hour, kind, code) DO UPDATE SET count = tallies.count + excluded.count
            """,
            [.text("app"), .integer(0), .text("k"), .text(""), .integer(1)]
        ),
        OldStatement("UPDATE horizon SET swept_until = $1 WHERE swept_until < $1", [.integer(9_000_000_000_000)]),
        // No row has this name: readiness failed for no row either.
        OldStatement("DELETE FROM secrets WHERE name = $1", [.text("check")]),
        OldStatement(
            "INSERT INTO secrets (name, value) VALUES ($1, $2) ON CONFLICT DO NOTHING", [.text("n"), .bytes([1])]),
        OldStatement(
            """
            INSERT INTO promotions (promotion, app, subject, transaction_id, leased_until, fence)
            VALUES ($1, $2, $3, $4, 0, 0) ON CONFLICT DO NOTHING
            """,
            [.text("p"), .text("a"), .text("s"), .text("t2")]
        ),
        OldStatement(
            """
            UPDATE promotions SET answer = $5, answered_at = $6
            WHERE promotion = $1 AND app = $2 AND subject = $3 AND transaction_id = $4 AND answer IS NULL
            """,
            [.text("p"), .text("app"), .text("s"), .text("t"), .bytes([1]), .integer(1)]
        ),
        OldStatement(
            """
            DELETE FROM spent WHERE (expires_at, name) IN
            (SELECT expires_at, name FROM spent WHERE expires_at <= $1 ORDER BY expires_at LIMIT $2)
            """,
            [.integer(9_000_000_000_000), .integer(10)]
        ),
    ]

    /// What the first version read.
    static let reads: [OldStatement] = [
        OldStatement("SELECT counter, seen, revoked_at, largest_gap FROM keys WHERE id = $1", [id]),
        OldStatement("SELECT swept_until FROM horizon", []),
        OldStatement("SELECT value FROM secrets WHERE name = $1", [.text("challenge-mac")]),
        OldStatement("SELECT bytes FROM receipts WHERE key_id = $1 ORDER BY created_at DESC LIMIT 1", [id]),
        OldStatement("SELECT at, app, kind, code, detail FROM events WHERE key_id = $1 ORDER BY id DESC LIMIT 1", [id]),
    ]

    private static let id = SQLValue.bytes(Array(repeating: 0x11, count: 32))

    /// Runs each of them on the old node, before and after the new program opened the store.
    static func run(on old: any SQLEngine, migrating: () async throws -> SQLTrustStore) async throws {
        func works(_ old: OldStatement, _ engine: any SQLEngine) async -> Bool {
            do {
                return try await engine.transact { session in
                    try session.run(old.text, old.arguments)
                    return .rollback(true)
                }
            } catch {
                return false
            }
        }
        // The old node has prepared all its statements.
        for statement in writes + reads { #expect(await works(statement, old), "before: \(statement.text.postgres)") }
        let grantee = Sample.keyId()
        try await old.transact { session in
            try session.run(
                """
                INSERT INTO promotions (promotion, app, subject, transaction_id, leased_until, fence, answer, answered_at)
                VALUES ('welcome', 'app', $1, 'old', 0, 1, $2, 1795000000000)
                """,
                .text(grantee.base64),
                .bytes(Array(#"{"granted":true,"firstClaim":true,"lastUpdate":null}"#.utf8))
            )
            return .commit(())
        }
        let store = try await migrating()
        // A grant of the first version is remembered.
        let again = try Sample.claim(transaction: "new", of: .key(grantee))
        #expect(try await store.standing(again) == .alreadyGranted(Sample.now))
        for statement in writes { #expect(await !works(statement, old), "after: \(statement.text.postgres)") }
        for statement in reads { #expect(await works(statement, old), "after: \(statement.text.postgres)") }
        // The fixture's second key has none.
        #expect(try await store.inspect(at: Sample.now).problems == ["key IiIiIiIi has no receipt"])
        try await MigrationTests.check(store)
        // The secret of the first version signs on.
        let keys = try await store.challengeKeys(orElse: Sample.bytes(32), at: Sample.now)
        #expect(keys.map(\.secret) == [Array(repeating: 0xAB, count: 32)])
        await store.close()
    }

    @Test("an old node on a SQLite store that was migrated under it reads and writes nothing")
    func sqlite() async throws {
        let path = TemporaryDirectory.shared.path("fence.sqlite")
        let old = try SQLiteEngine(path: path, migrations: [MigrationTests.fixture("sqlite", version: 1)])
        try await Self.run(on: old) { try SQLTrustStore.sqlite(at: path) }
        await old.close()
    }

    @Test("a store whose schema became another one is not ready", arguments: StoreBackend.persistent)
    func readiness(_ backend: StoreBackend) async throws {
        let store = try #require(try await backend.make().store as? SQLTrustStore)
        try await store.check()
        try await store.engine.transact { session in
            try session.run("INSERT INTO schema_versions (version) VALUES (99)")
            return .commit(())
        }
        await #expect(throws: StoreFault(code: "store.newer", reason: "")) { try await store.check() }
    }

    /// A node of schema 2 beside a store that the next program brought to schema 3: its verbs are today's, its migrations and number that version's.
    static func runSecond(
        _ old: SQLTrustStore, startingAgain: () async throws -> Void, migrating: () async throws -> SQLTrustStore
    ) async throws {
        try await old.check()
        let token = SingleUseToken(id: "spent-before", expiresAt: Sample.now + 300)
        #expect(try await old.consume(token, at: Sample.now) == .spent)
        let store = try await migrating()
        try await store.check()
        // The old node is not ready from now on, so its gateway sends nobody to it, and once stopped it does not start again.
        await #expect(throws: StoreFault(code: "store.newer", reason: "")) { try await old.check() }
        await #expect(throws: StoreFault(code: "store.newer", reason: "")) { try await startingAgain() }
        // What it still answers until then is true for both: nothing is spent twice.
        #expect(try await store.consume(token, at: Sample.now) == .alreadyUsed)
        let late = SingleUseToken(id: "spent-late", expiresAt: Sample.now + 300)
        #expect(try await old.consume(late, at: Sample.now) == .spent)
        #expect(try await store.consume(late, at: Sample.now) == .alreadyUsed)
        await old.close()
        await store.close()
    }

    @Test("a node of schema 2 on a SQLite store that was migrated under it is not ready, and does not start again")
    func secondOnSQLite() async throws {
        let path = TemporaryDirectory.shared.path("fence-second.sqlite")
        let known = [Migration].sqlite.filter { $0.version <= 2 }
        func open() throws -> SQLTrustStore {
            SQLTrustStore(engine: try SQLiteEngine(path: path, migrations: known), schema: known.newest)
        }
        try await Self.runSecond(
            try open(), startingAgain: { _ = try open() }, migrating: { try SQLTrustStore.sqlite(at: path) })
    }

    @Test(
        "a node of schema 2 on a PostgreSQL store that was migrated under it is not ready, and does not start again",
        .enabled(if: PostgresServer.isAvailable, "needs PostgreSQL"))
    func secondOnPostgres() async throws {
        let url = try await PostgresServer.sharedWithEmptyStore().url
        let known = [Migration].postgres.filter { $0.version <= 2 }
        func open() async throws -> SQLTrustStore {
            let engine = try PostgresEngine(url: url, configuration: PostgresConfiguration())
            do {
                try await engine.migrate(known)
            } catch {
                await engine.close()
                throw error
            }
            return SQLTrustStore(engine: engine, schema: known.newest)
        }
        try await Self.runSecond(
            try await open(), startingAgain: { _ = try await open() },
            migrating: { try await SQLTrustStore.postgres(url) })
    }

    @Test(
        "an old node on a PostgreSQL store that was migrated under it reads and writes nothing",
        .enabled(if: PostgresServer.isAvailable, "needs PostgreSQL"))
    func postgres() async throws {
        let url = try await PostgresServer.sharedWithEmptyStore().url
        let old = try PostgresEngine(url: url, configuration: PostgresConfiguration())
        try await old.migrate([MigrationTests.fixture("postgres", version: 1)])
        try await Self.run(on: old) { try await SQLTrustStore.postgres(url) }
        await old.close()
    }
}
