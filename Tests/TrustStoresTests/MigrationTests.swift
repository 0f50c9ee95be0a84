// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import Crypto
import Foundation
import TestSupport
import Testing
import TrustStoreContract

@testable import TrustStores
@testable import TrustStoresPostgres

/// Each released schema is kept as a fixture with data in it; none of them is ever edited.
@Suite struct MigrationTests {
    static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()

    @Test("the migrations in the program are all the files, in their order, and every word of them is replaced")
    func files() throws {
        let sources = Self.folder.deletingLastPathComponent().deletingLastPathComponent().appending(path: "Sources")
        let names = try FileManager.default.contentsOfDirectory(
            atPath: sources.appending(path: "TrustStores/Migrations").path)
        for migrations in [[Migration].sqlite, .postgres] {
            #expect(migrations.map { $0.name + ".sql" } == names.sorted())
            #expect(migrations.map(\.version) == migrations.map(\.version).sorted())
            for migration in migrations {
                #expect(Int(migration.name.prefix(4)) == migration.version)
                #expect(!migration.sql.contains("{") && !migration.sql.contains("}"), "\(migration.name)")
            }
        }
    }

    /// The text that made existing stores, without comments and spacing. A released step is never edited: a change belongs into a new one.
    @Test("a released migration stays what it is, in both dialects")
    func released() {
        let digests = ([Migration].sqlite + [Migration].postgres).map { migration in
            let lines = migration.sql.split(separator: "\n").map { line in
                line.split(separator: "--", maxSplits: 1, omittingEmptySubsequences: false)[0]
            }
            let text = lines.joined(separator: " ").split(separator: " ").joined(separator: " ")
            return SHA256.hash(data: Data(text.utf8)).prefix(6).map { String(format: "%02x", $0) }.joined()
        }
        #expect(
            digests == [
                "98b6a2ab038e", "99d46f86c121", "451e994dc4b4", "6b8e710ac105", "aad252035a2c",
                "72261acf134a",
                "69783589254c", "6c001411bcd0", "c17486983253", "6b8e710ac105", "6c9c5d1225fe",
                "36c81bd3442f",
            ])
    }

    /// The fixture of one released schema for one database.
    static func fixture(_ name: String, version: Int) throws -> Migration {
        let url = folder.deletingLastPathComponent().appending(path: "Vectors/stores/\(name)-schema-\(version).sql")
        return Migration(version: version, name: "fixture", sql: try String(contentsOf: url, encoding: .utf8))
    }

    /// What the fixtures hold, read by today's program.
    static func check(_ store: SQLTrustStore) async throws {
        let id = try #require(KeyIdentifier(bytes: [UInt8](repeating: 0x11, count: 32)))
        let key = try #require(try await store.key(id))
        #expect(key.counter == 41 && key.user == "ann" && key.validationCategory == 4 && key.riskMetric == 2)
        #expect(key.publicKeyBytes.count == 65 && key.revokedAt == nil && key.bundleVersion == "1.0")
        let revoked = try #require(KeyIdentifier(bytes: [UInt8](repeating: 0x22, count: 32)))
        #expect(try await store.key(revoked)?.revokedAt == Sample.now)
        #expect(try await store.secret(named: "challenge-mac", orElse: []) == [UInt8](repeating: 0xAB, count: 32))
        #expect(try await store.receipts(of: id, limit: 9).map(\.receipt.bytes) == [[2, 2], [1, 1]])
        #expect(try await store.history(of: id, limit: 9).map(\.kind) == ["attested", "receipt"])
        let used = SpendableChallenge(id: [UInt8](repeating: 0x33, count: 16), expiresAt: Sample.now + 300)
        #expect(try await store.spend(used, at: Sample.now) == .alreadyUsed)
        #expect(try await store.advance(id, to: 41) == .refused(.replayed))
        #expect(try await store.advance(id, to: 42) == .advanced(previous: 41))
        #expect(try await store.tallies(app: "app", from: Sample.now, to: Sample.now + 1).map(\.count) == [12])
        #expect(try await store.leaseDueReceipts(at: Sample.now + 9, limit: 9, for: .seconds(9)).map(\.key.id) == [id])
    }

    @Test("a SQLite store of each released schema opens and keeps everything", arguments: [1])
    func sqlite(_ version: Int) async throws {
        let path = TemporaryDirectory.shared.path("schema-\(version).sqlite")
        let old = try SQLiteEngine(path: path, migrations: [Self.fixture("sqlite", version: version)])
        await old.close()
        let store = try SQLTrustStore.sqlite(at: path)
        try await Self.check(store)
        await store.close()
    }

    @Test(
        "a PostgreSQL store of each released schema opens and keeps everything",
        .enabled(if: PostgresServer.isAvailable, "needs PostgreSQL"), arguments: [1])
    func postgres(_ version: Int) async throws {
        let url = try await PostgresServer.sharedWithEmptyStore().url
        /// What an operator's command says, which changes no schema and makes no store.
        func operatorIsRefused() async -> String? {
            await #expect(throws: StoreFault.self) { try await SQLTrustStore.postgres(url, isExisting: true) }?.reason
        }
        #expect(await operatorIsRefused()?.contains("has no store") == true)
        #expect(try await SQLTrustStore.schema(ofPostgresAt: url, within: .seconds(60)) == nil)
        let old = try PostgresEngine(url: url, configuration: PostgresConfiguration())
        try await old.migrate([Self.fixture("postgres", version: version)])
        await old.close()
        #expect(await operatorIsRefused()?.contains("has schema \(version)") == true)
        #expect(try await SQLTrustStore.schema(ofPostgresAt: url, within: .seconds(60)) == version)
        let store = try await SQLTrustStore.postgres(url)
        try await Self.check(store)
        await store.close()
    }

    @Test("nodes that start together migrate once", .enabled(if: PostgresServer.isAvailable, "needs PostgreSQL"))
    func together() async throws {
        let url = try await PostgresServer.sharedWithEmptyStore().url
        let stores = try await race(8) { _ in try await SQLTrustStore.postgres(url) }
        for store in stores {
            try await store.check()
            await store.close()
        }
    }
}
