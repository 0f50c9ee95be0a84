// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import Foundation
import Synchronization
import TestSupport
import Testing
import TrustStoreContract
import Vocabulary

@testable import TrustStores
@testable import TrustStoresPostgres

@Suite(.serialized, .enabled(if: PostgresServer.isAvailable, "needs PostgreSQL")) struct PostgresFaultTests {
    @Test("PostgreSQL crashes and restarts under load: clear faults, recovery without a new store, nothing lost")
    func restart() async throws {
        let server = try await onThread { try PostgresServer() }
        let fixture = try await PostgresStores.fixture(server: server)
        let store = fixture.store
        let keys = try await Sample.keys(8, in: store)
        let record = LoadRecord()
        let load = Task { () async throws -> Int in
            try await race(keys.count) { index -> Int in
                var counter: UInt32 = 0
                while !record.isOver.withLock({ $0 }) {
                    counter += 1
                    do {
                        let outcome = try await store.advance(keys[index], to: counter)
                        if case .advanced = outcome { record.answered.withLock { $0[keys[index]] = counter } }
                    } catch let fault as StoreFault {
                        record.faults.withLock { $0[fault.code.rawValue, default: 0] += 1 }
                        try await Task.sleep(for: .milliseconds(5))
                    }
                }
                return 1
            }.count
        }
        try await eventually("first answers") { record.total > 200 }
        try await PostgresServer.crashAll(server)
        try await eventually("faults") { record.faults.withLock { ($0["store.unavailable"] ?? 0) > 5 } }
        let before = record.total
        try await onThread { try server.start() }
        try await eventually("recovery") { record.total > before + 200 }
        record.isOver.withLock { $0 = true }
        _ = try await load.value
        #expect(Set(record.faults.withLock { $0.keys }) == ["store.unavailable"])
        for (id, counter) in record.answered.withLock({ $0 }) {
            #expect(try await store.key(id)?.counter ?? 0 >= counter)
        }
        await store.close()
        try await PostgresServer.crashAll(server)
    }

    @Test("a server that is not there is said to be so, quickly")
    func absent() async throws {
        let start = ContinuousClock.now
        await #expect(throws: StoreFault.unavailable("")) {
            _ = try await SQLTrustStore.postgres("postgres://nobody@127.0.0.1:1/nothing")
        }
        #expect(Measuring.isOff || ContinuousClock.now - start < .seconds(5))
    }

    @Test("a statement that takes too long is ended by the server, and the connection goes on")
    func statementTimeout() async throws {
        var configuration = PostgresConfiguration()
        configuration.writers = 1
        configuration.statementTimeout = .milliseconds(300)
        let store = try await sleepsInVain(configuration)
        try await store.check()
        await store.close()
    }

    @Test("a server that falls silent is given up")
    func answerTimeout() async throws {
        var configuration = PostgresConfiguration()
        configuration.answerTimeout = .milliseconds(300)
        configuration.statementTimeout = .seconds(20)
        let store = try await sleepsInVain(configuration)
        await store.close()
    }

    /// Lets the server sleep for twenty seconds, and sees that half of them were enough.
    private func sleepsInVain(_ configuration: PostgresConfiguration) async throws -> SQLTrustStore {
        let url = try await PostgresServer.sharedWithEmptyStore().url
        let store = try await SQLTrustStore.postgres(url, configuration: configuration)
        let start = ContinuousClock.now
        await #expect(throws: StoreFault.unavailable("")) {
            try await store.engine.transact { session in
                try session.run("SELECT 1 FROM pg_sleep(20)")
                return .commit(())
            }
        }
        #expect(Measuring.isOff || ContinuousClock.now - start < .seconds(10))
        return store
    }

    @Test("many questions at once share the readers, and each gets its own answer")
    func pipeline() async throws {
        let fixture = try await PostgresStores.fixture()
        let keys = try await Sample.keys(30, in: fixture.store)
        let found = try await race(900) { index in
            index % 3 == 0
                ? try await fixture.store.key(Sample.keyId()) == nil
                : try await fixture.store.key(keys[index % 30])?.id == keys[index % 30]
        }
        #expect(found.allSatisfy { $0 })
        let store = try #require(fixture.store as? SQLTrustStore)
        // One question that fails takes none of its neighbours along.
        let mixed = try await race(60) { index -> Bool in
            do {
                return try await store.engine.read { session in
                    try session.row(
                        index % 2 == 0 ? "SELECT count(*) FROM attested_keys" : "SELECT 1 FROM nowhere")?
                        .integer(0) == 30
                }
            } catch is StoreFault { return false }
        }
        #expect(mixed.count { $0 } == 30)
    }
}

/// What a load saw.
private final class LoadRecord: Sendable {
    let answered = Mutex<[KeyIdentifier: UInt32]>([:])
    let faults = Mutex<[String: Int]>([:])
    let isOver = Mutex(false)

    /// The sum of all accepted counters.
    var total: UInt32 { answered.withLock { $0.values.reduce(0, +) } }
}
