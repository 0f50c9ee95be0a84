// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import TrustStoreContract
import Vocabulary

@testable import TrustStores

/// What `store check` says about an audit that somebody changed.
@Suite struct AuditChainTests {
    /// Five lines in a store of a backend.
    private static func store(_ backend: StoreBackend) async throws -> SQLTrustStore {
        let store = try #require(try await backend.make().store as? SQLTrustStore)
        _ = try await store.secret(named: AuditChain.secretName, orElse: Sample.bytes(32))
        for number in 1...5 {
            try await store.append([Sample.auditEntry("line \(number)", at: Sample.now + Double(number))])
        }
        return store
    }

    private static func run(_ store: SQLTrustStore, _ text: SQLText) async throws {
        _ = try await store.engine.transact { session in .commit(try session.run(text).changes) }
    }

    private static func problems(_ store: SQLTrustStore) async throws -> [String] {
        try await store.inspect(at: Sample.now).problems
    }

    @Test("the first line that does not fit is named", arguments: StoreBackend.persistent)
    func changed(_ backend: StoreBackend) async throws {
        let changes: [(SQLText, String)] = [
            ("UPDATE audit_entries SET target = 'other' WHERE id = 3", "line 4 names"),
            ("UPDATE audit_entries SET reason = 'other' WHERE id = 3", "line 4 names"),
            // Times are shown in whole seconds, and what is shown is sealed.
            ("UPDATE audit_entries SET at = at - 1 WHERE id = 3", "line 4 names"),
            ("UPDATE audit_entries SET previous = NULL WHERE id = 2", "line 2 names none"),
            ("DELETE FROM audit_entries WHERE id = 1", "line 1 is missing"),
            ("DELETE FROM audit_entries WHERE id = 3", "line 3 is missing"),
            ("DELETE FROM audit_entries WHERE id = 5", "line 5 is missing"),
            ("UPDATE audit_entries SET id = 9 WHERE id = 5", "line 5 is missing"),
            ("UPDATE audit_entries SET outcome = 'other' WHERE id = 5", "its last line, 5, is another one"),
            ("UPDATE audit_chain SET cut_number = 1", "line 2 names"),
            (
                """
                INSERT INTO audit_entries (id, at, name, operation, target, outcome, previous)
                SELECT 6, at, name, operation, target, outcome, previous FROM audit_entries WHERE id = 5
                """, "line 6 was added"
            ),
        ]
        for (change, words) in changes {
            let store = try await Self.store(backend)
            #expect(try await Self.problems(store) == [])
            try await Self.run(store, change)
            let problems = try await Self.problems(store)
            #expect(problems.count == 1 && problems[0].contains(words), "\(change.sqlite): \(problems)")
            await store.close()
        }
    }

    @Test("retention keeps a checkpoint, whose change is seen", arguments: StoreBackend.persistent)
    func swept(_ backend: StoreBackend) async throws {
        let store = try await Self.store(backend)
        let edge = StoreTime.milliseconds(Sample.now + 3)
        #expect(try await store.sweepAudit(olderThan: edge, atMost: 1) == 1)
        #expect(try await store.sweepAudit(olderThan: edge, atMost: 9) == 1)
        #expect(try await store.sweepAudit(olderThan: edge, atMost: 9) == 0)
        #expect(try await store.audit(after: nil, limit: 9).map(\.number) == [3, 4, 5])
        #expect(try await Self.problems(store) == [])
        try await Self.run(
            store, "UPDATE audit_chain SET cut_number = 3, cut_hash = (SELECT previous FROM audit_entries WHERE id = 4)"
        )
        try await Self.run(store, "DELETE FROM audit_entries WHERE id = 3")
        #expect(try await Self.problems(store).first?.contains("checkpoint, line 3") == true)
        await store.close()
        // Nothing is left, and the next line goes on.
        let other = try await Self.store(backend)
        #expect(try await other.sweepAudit(olderThan: .max, atMost: 9) == 5)
        #expect(try await Self.problems(other) == [])
        try await other.append([Sample.auditEntry("line 6")])
        #expect(try await other.audit(after: nil, limit: 9).map(\.number) == [6])
        #expect(try await Self.problems(other) == [])
        await other.close()
    }

    @Test(
        "a checkpoint without its seal is seen, and a new secret seals a good one alone",
        arguments: StoreBackend.persistent)
    func sealed(_ backend: StoreBackend) async throws {
        let store = try await Self.store(backend)
        let edge = StoreTime.milliseconds(Sample.now + 3)
        #expect(try await store.sweepAudit(olderThan: edge, atMost: 9) == 2)
        let first = try await store.secret(named: AuditChain.secretName, orElse: [])
        let replaced = try await race(4) { _ in
            let new = AuditChain.successor(of: first, random: Sample.bytes(32))
            return try await store.replaceSecret(named: AuditChain.secretName, by: new)
        }
        let last = try await store.secret(named: AuditChain.secretName, orElse: [])
        #expect(replaced.allSatisfy { $0 } && last != first && AuditChain.lasting(last) == first)
        #expect(try await Self.problems(store) == [])
        // A copy without secrets, made by other programs too, has the seal of a secret that it lacks.
        try await Self.run(store, "DELETE FROM store_secrets")
        #expect(try await Self.problems(store) == [])
        _ = try await store.secret(named: AuditChain.secretName, orElse: Sample.bytes(32))
        #expect(try await Self.problems(store) == [])
        // Lines are cut off and the seal with them: no other secret makes that good.
        try await Self.run(store, "DELETE FROM audit_entries")
        try await Self.run(store, "UPDATE audit_chain SET cut_number = last, cut_hash = hash, cut_seal = NULL")
        for _ in 0..<2 {
            #expect(try await Self.problems(store).first?.contains("checkpoint, line 5") == true)
            _ = try await store.replaceSecret(named: AuditChain.secretName, by: Sample.bytes(32))
        }
        await store.close()
    }

    @Test("lines that are older than the chain stay as they are, and the chain begins with the next")
    func older() async throws {
        let path = TemporaryDirectory.shared.path("\(UUID().uuidString).sqlite")
        let engine = try SQLiteEngine(path: path, migrations: [Migration].sqlite.filter { $0.version < 6 })
        try await engine.transact { session in
            try session.run("UPDATE audit_numbers SET last = 2")
            for id in 1...2 {
                let text: SQLText = """
                    INSERT INTO audit_entries (id, at, name, operation, target, outcome) VALUES ($1, 1000, 'n', 'o', 't', 'ok')
                    """
                try session.run(text, .integer(Int64(id)))
            }
            return .commit(())
        }
        await engine.close()
        let store = try SQLTrustStore.sqlite(at: path)
        try await store.append([Sample.auditEntry("new"), Sample.auditEntry("newer")])
        #expect(try await store.audit(after: nil, limit: 9).map { $0.previous == nil } == [true, true, false, false])
        #expect(try await Self.problems(store) == [])
        #expect(try await store.sweepAudit(olderThan: 2000, atMost: 9) == 2)
        #expect(try await Self.problems(store) == [])
        await store.close()
    }

    /// Stores have hashes of lines in this form.
    @Test func aLineStaysWhatItIs() {
        let entry = AuditEntry(
            at: Date(timeIntervalSince1970: 1_795_000_000), name: "ci", operation: "revokeKey",
            target: "app=shop é/\"\u{1}",
            outcome: "ok", address: "192.0.2.1", correlationId: "c", reason: "why")
        let line = NumberedAuditEntry(number: 7, previous: [UInt8](repeating: 0xAB, count: 32), entry: entry)
        let text =
            #"{"number":7,"at":"2026-11-18T11:06:40Z","name":"ci","operation":"revokeKey","#
            + #""target":"app=shop é/\"\u0001","outcome":"ok","address":"192.0.2.1","correlationId":"c","session":null,"reason":"why","previous":""#
            + "\(String(repeating: "ab", count: 32))\"}"
        #expect(line.line == text)
        #expect(line.hash.hexadecimal() == "2d30c964562f8fc5a96bac980ce0dde633e9d2ee941d0d56b4f6e2f110594b41")
    }
}
