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

@Suite struct PersistenceTests {
    @Test("what was answered is there for the next process", arguments: StoreBackend.persistent)
    func reopening(_ backend: StoreBackend) async throws {
        let fixture = try await backend.make()
        let id = try await Sample.storeWithKey(in: fixture, refreshAt: Sample.now)
        let challenge = Sample.challenge()
        #expect(try await fixture.store.advance(id, to: 7, spending: challenge) == .advanced(previous: 0))
        let secret = try await fixture.store.secret(named: "s", orElse: [1, 2, 3])
        let token = SingleUseToken(id: "jti", expiresAt: Sample.now + 60)
        #expect(try await fixture.store.consume(token, at: Sample.now) == .spent)
        let key = try await fixture.store.key(id)
        await fixture.store.close()
        let reopen = try #require(fixture.reopened)
        let again = try await reopen()
        #expect(try await again.key(id) == key)
        #expect(try await again.advance(id, to: 7, spending: challenge) == .refused(.challengeUsed))
        #expect(try await again.secret(named: "s", orElse: [9]) == secret)
        #expect(try await again.consume(token, at: Sample.now) == .alreadyUsed)
        #expect(try await again.leaseDueReceipts(at: Sample.now, limit: 9, for: .seconds(9)).map(\.key.id) == [id])
        await again.close()
    }

    @Test("a store of a later program is refused and left alone", arguments: StoreBackend.persistent)
    func newer(_ backend: StoreBackend) async throws {
        let fixture = try await backend.make()
        let store = try #require(fixture.store as? SQLTrustStore)
        try await store.engine.transact { session in
            try session.run("INSERT INTO schema_versions (version) VALUES (99)")
            return .commit(())
        }
        await store.close()
        let reopen = try #require(fixture.reopened)
        await #expect(throws: StoreFault(code: "store.newer", reason: "")) { _ = try await reopen() }
    }

    @Test(
        "a failure in the middle of one transaction takes nothing of another's with it",
        arguments: StoreBackend.persistent)
    func isolation(_ backend: StoreBackend) async throws {
        let store = try #require(try await backend.make().store as? SQLTrustStore)
        let outcomes = try await race(200) { index -> Bool in
            do {
                try await store.engine.transact { session in
                    try session.run(
                        "INSERT INTO store_secrets (name, value) VALUES ($1, $2)", .text("n\(index)"), .bytes([1]))
                    if index % 3 == 0 { try session.run("INSERT INTO nowhere (name) VALUES (1)") }
                    return index % 3 == 1 ? .rollback(()) : .commit(())
                }
                return index % 3 == 2
            } catch is StoreFault {
                return false
            }
        }
        #expect(outcomes.count { $0 } == 66)
        let count = try await store.engine.read { session in
            try session.row("SELECT count(*) FROM store_secrets")?.integer(0)
        }
        #expect(count == 66)
    }

    @Test("SQLite is in WAL mode, and each commit is flushed")
    func pragmas() async throws {
        let store = try SQLTrustStore.sqlite(at: TemporaryDirectory.shared.path("pragmas.sqlite"))
        let values = try await store.engine.transact { session in
            .commit([
                try session.row("PRAGMA synchronous")?.integer(0).description,
                try session.row("PRAGMA journal_mode")?.text(0),
            ])
        }
        #expect(values == ["2", "wal"])
    }

    @Test("a file that is no store is named as such")
    func garbage() throws {
        let path = TemporaryDirectory.shared.path("garbage.sqlite")
        try Data(Sample.bytes(8192)).write(to: URL(fileURLWithPath: path))
        #expect(throws: StoreFault.damaged("")) { try SQLTrustStore.sqlite(at: path) }
        #expect(throws: StoreFault.unavailable("")) { try SQLTrustStore.sqlite(at: "/nowhere/at/all/x.sqlite") }
    }
}
