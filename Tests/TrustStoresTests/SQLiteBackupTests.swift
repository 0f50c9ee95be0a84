// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import Foundation
import TestSupport
import Testing
import TrustStoreContract
import Vocabulary

@testable import TrustStores

/// What a copy of a store contains, and what it never does.
@Suite struct SQLiteBackupTests {
    let folder: TemporaryDirectory

    init() throws { folder = try TemporaryDirectory() }

    private func names() throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: folder.path("")) }

    private func bytes(_ name: String) throws -> Data { try Data(contentsOf: URL(fileURLWithPath: folder.path(name))) }

    @Test("a copy of a store in use has everything but the secrets, and opens with new ones")
    func withoutSecrets() async throws {
        let store = try SQLTrustStore.sqlite(at: folder.path("s.sqlite"))
        let secret = (0..<32).map { UInt8(truncatingIfNeeded: $0 * 7 + 90) }
        _ = try await store.secret(named: "token-key", orElse: secret)
        let keys = try await store.challengeKeys(orElse: secret.reversed(), at: Sample.now)
        let spent = Sample.challenge()
        #expect(try await store.spend(spent, at: Sample.now) == .spent)
        try await store.append([Sample.auditEntry("first")])
        for _ in 0..<3 { try await store.record(StoreEvent(at: Sample.now, app: "app", keyId: nil, kind: "kind")) }
        #expect(
            try SQLTrustStore.backUp(sqliteAt: folder.path("s.sqlite"), to: folder.path("copy"), withSecrets: false)
                == [Migration].sqlite.newest)
        #expect(try names().filter { $0.hasPrefix("copy") } == ["copy"])
        let mode = try FileManager.default.attributesOfItem(atPath: folder.path("copy"))[.posixPermissions]
        #expect(mode as? Int == 0o600)
        let content = try bytes("copy")
        #expect(content.range(of: Data(secret)) == nil && content.range(of: Data(secret.reversed())) == nil)
        // The store goes on, and the copy is a store of its own.
        try await store.check()
        let copy = try SQLTrustStore.existingSQLite(at: folder.path("copy"))
        #expect(try await copy.spend(spent, at: Sample.now) == .alreadyUsed)
        #expect(try await copy.audit(after: nil, limit: 9) == store.audit(after: nil, limit: 9))
        try await copy.append([Sample.auditEntry("second")])
        #expect(try await copy.audit(after: nil, limit: 9).map(\.number) == [1, 2])
        let fresh = [UInt8](repeating: 3, count: 32)
        #expect(try await copy.secret(named: "token-key", orElse: fresh) == fresh)
        #expect(try await copy.challengeKeys(orElse: fresh, at: Sample.now) != keys)
        #expect(try await copy.inspect(at: Sample.now).problems == [])
        await copy.close()
        await store.close()
    }

    @Test("a copy with secrets is asked for")
    func withSecrets() async throws {
        let store = try SQLTrustStore.sqlite(at: folder.path("s.sqlite"))
        let secret = [UInt8](repeating: 9, count: 32)
        let keys = try await store.challengeKeys(orElse: secret, at: Sample.now)
        _ = try SQLTrustStore.backUp(sqliteAt: folder.path("s.sqlite"), to: folder.path("copy"), withSecrets: true)
        let copy = try SQLTrustStore.existingSQLite(at: folder.path("copy"))
        #expect(try await copy.challengeKeys(orElse: [], at: Sample.now) == keys)
        await copy.close()
        await store.close()
    }

    @Test("a backup replaces nothing, and one that fails leaves nothing")
    func faults() async throws {
        let store = try SQLTrustStore.sqlite(at: folder.path("s.sqlite"))
        await store.close()
        try Data("mine".utf8).write(to: URL(fileURLWithPath: folder.path("copy")))
        try FileManager.default.createSymbolicLink(atPath: folder.path("link"), withDestinationPath: "nowhere")
        for name in ["copy", "link", "none/copy"] {
            #expect(throws: StoreFault.self) {
                try SQLTrustStore.backUp(sqliteAt: folder.path("s.sqlite"), to: folder.path(name), withSecrets: false)
            }
        }
        for name in ["copy", "none"] {
            #expect(throws: StoreFault.self) {
                try SQLTrustStore.backUp(sqliteAt: folder.path(name), to: folder.path("other"), withSecrets: false)
            }
        }
        #expect(try bytes("copy") == Data("mine".utf8))
        // Beside the store SQLite may keep its log and index.
        #expect(try names().filter { !$0.hasPrefix("s.sqlite-") }.sorted() == ["copy", "link", "s.sqlite"])
    }

    /// Each would be read without end.
    @Test("a view in the place of a table is not read", arguments: ["schema_versions", "attested_keys"])
    func views(_ table: String) async throws {
        let path = folder.path("s.sqlite")
        try await SQLTrustStore.sqlite(at: path).close()
        let connection = try SQLiteConnection(path: path, writes: true)
        try connection.run(
            script: """
                ALTER TABLE \(table) RENAME TO other;
                CREATE VIEW \(table) AS
                WITH RECURSIVE endless (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM endless) SELECT x AS version FROM endless
                """)
        connection.close()
        for withSecrets in [false, true] {
            #expect(throws: StoreFault.self) {
                try SQLTrustStore.backUp(sqliteAt: path, to: folder.path("copy"), withSecrets: withSecrets)
            }
        }
        #expect(try names().filter { $0.hasPrefix("copy") } == [])
        if table == "schema_versions" {
            #expect(throws: StoreFault.self) { try SQLTrustStore.existingSQLite(at: path) }
        }
    }

    @Test("a store with a trigger is not opened for an operator")
    func triggers() async throws {
        let path = folder.path("s.sqlite")
        try await SQLTrustStore.sqlite(at: path).close()
        let connection = try SQLiteConnection(path: path, writes: true)
        try connection.run(
            script: "CREATE TRIGGER t AFTER INSERT ON audit_entries BEGIN DELETE FROM attested_keys; END")
        connection.close()
        #expect(throws: StoreFault.self) { try SQLTrustStore.existingSQLite(at: path) }
        #expect(throws: StoreFault.self) {
            try SQLTrustStore.backUp(sqliteAt: path, to: folder.path("copy"), withSecrets: true)
        }
    }

    @Test("a store of the first schema is copied as it is, also without its secrets")
    func oldSchema() async throws {
        let migrations = try [MigrationTests.fixture("sqlite", version: 1)]
        try await SQLiteEngine(path: folder.path("s.sqlite"), migrations: migrations).close()
        let secret = Data(repeating: 0xAB, count: 32)
        for (name, withSecrets) in [("plain", false), ("whole", true)] {
            let schema = try SQLTrustStore.backUp(
                sqliteAt: folder.path("s.sqlite"), to: folder.path(name), withSecrets: withSecrets)
            #expect(schema == 1 && SQLTrustStore.schema(ofSQLiteAt: folder.path(name)) == 1)
            #expect(try (bytes(name).range(of: secret) != nil) == withSecrets)
        }
        // An operator's command changes no schema.
        #expect(throws: StoreFault.self) { try SQLTrustStore.existingSQLite(at: folder.path("whole")) }
        #expect(SQLTrustStore.schema(ofSQLiteAt: folder.path("whole")) == 1)
        let whole = try SQLTrustStore.sqlite(at: folder.path("whole"))
        try await MigrationTests.check(whole)
        await whole.close()
    }
}
