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

/// Assertions of many callers at once: each gets the verdict that it would get alone.
@Suite(.serialized, .enabled(if: PostgresServer.isAvailable, "needs PostgreSQL")) struct PostgresAssertionTests {
    static let callers = 60

    /// What each gave, in the order of the callers.
    private func inOrder<Outcome: Sendable>(
        _ count: Int, _ body: @escaping @Sendable (Int) async throws -> Outcome
    ) async throws -> [Outcome] {
        try await race(count) { (index: $0, outcome: try await body($0)) }.sorted { $0.index < $1.index }.map(
            \.outcome)
    }

    @Test(
        "128 callers with one key on two nodes: the accepted ones form one chain, and only they spend a challenge")
    func oneKey() async throws {
        let fixture = try await PostgresStores.fixture()
        let nodes = [fixture.store, try await fixture.another()]
        let id = try await Sample.storeWithKey(in: fixture)
        let challenges = (0..<128).map { _ in Sample.challenge() }
        let outcomes = try await inOrder(128) { index in
            try await nodes[index % 2].advance(id, to: UInt32(index + 1), spending: challenges[index])
        }
        // By the counter that each was told is the one before its own.
        var chain: [UInt32: UInt32] = [:]
        for (index, outcome) in outcomes.enumerated() {
            if case .advanced(let previous) = outcome {
                #expect(chain.updateValue(UInt32(index + 1), forKey: previous) == nil)
            } else {
                #expect(outcome == .refused(.replayed))
            }
            let isAccepted = if case .advanced = outcome { true } else { false }
            #expect(try await nodes[0].isSpent(challenges[index]) == isAccepted)
        }
        var counter: UInt32 = 0
        while let next = chain.removeValue(forKey: counter) { counter = next }
        #expect(chain.isEmpty && counter == 128)
        #expect(try await nodes[1].key(id)?.counter == 128)
        for node in nodes { await node.close() }
    }

    @Test("many keys on two nodes: no counter is accepted twice, and the highest accepted one stays")
    func manyKeys() async throws {
        let fixture = try await PostgresStores.fixture()
        let nodes = [fixture.store, try await fixture.another()]
        let keys = try await Sample.keys(64, in: fixture.store)
        let chains = try await inOrder(128) { index -> [UInt32] in
            var accepted: [UInt32] = []
            // Two callers share each key, one on each node: every second counter belongs to one of them.
            for counter in stride(from: UInt32(1 + index / 64), through: 40, by: 2) {
                let outcome = try await nodes[index / 64].advance(keys[index % 64], to: counter)
                if case .advanced(let previous) = outcome {
                    #expect(previous < counter)
                    accepted.append(counter)
                }
            }
            return accepted
        }
        for (index, id) in keys.enumerated() {
            let accepted = (chains[index] + chains[index + 64]).sorted()
            #expect(Set(accepted).count == accepted.count)
            #expect(try await nodes[1].key(id)?.counter == accepted.last)
        }
        for node in nodes { await node.close() }
    }

    @Test("a damaged row is a fault of the caller who asks for it, and of nobody who asks at the same moment")
    func damagedRow() async throws {
        let (server, url) = try await PostgresServer.sharedWithEmptyStore()
        let store = try await SQLTrustStore.postgres(url)
        let keys = try await Sample.keys(20, in: store)
        let id = keys[7].bytes.map { String(format: "%02x", $0) }.joined()
        let table = "\(PostgresServer.schema(of: url)).attested_keys"
        _ = try await server.ask("UPDATE \(table) SET counter = 1099511627776 WHERE id = '\\x\(id)'")
        let answers = try await inOrder(200) { index in
            do { return try await store.key(keys[index % 20])?.id == keys[index % 20] ? "found" : "other" } catch let
                fault as StoreFault
            {
                return fault.reason
            }
        }
        for (index, answer) in answers.enumerated() {
            #expect(answer == (index % 20 == 7 ? "a counter is too large" : "found"))
        }
        await store.close()
    }

    /// A store whose one connection for batches is busy with a first caller, until the gate is opened.
    private struct Gated {
        let store: SQLTrustStore
        let keys: [KeyIdentifier]
        let seen: Sightings
        let server: PostgresServer
        let first: Task<AdvanceOutcome, any Error>
        let open: @Sendable () async throws -> Void
    }

    /// - Parameter poison: the number of a key whose change the server refuses.
    private func gated(poison: Int? = nil) async throws -> Gated {
        let (server, url) = try await PostgresServer.sharedWithEmptyStore()
        let seen = Sightings()
        var configuration = PostgresConfiguration()
        configuration.writers = 2
        configuration.statementTimeout = .seconds(60)
        configuration.answerTimeout = .seconds(60)
        configuration.queueTimeout = .seconds(60)
        configuration.observe = { seen.add($0) }
        let store = try await SQLTrustStore.postgres(url, configuration: configuration)
        var keys = try await Sample.keys(Self.callers + 1, in: store)
        let slow = keys.removeLast()
        let schema = PostgresServer.schema(of: url)
        func trigger(_ name: String, on key: KeyIdentifier, _ body: String) async throws {
            let id = key.bytes.map { String(format: "%02x", $0) }.joined()
            _ = try await server.ask(
                """
                CREATE FUNCTION \(schema).\(name)() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN \(body); RETURN NEW; END';
                CREATE TRIGGER \(name) BEFORE UPDATE ON \(schema).attested_keys FOR EACH ROW
                WHEN (NEW.id = '\\x\(id)') EXECUTE FUNCTION \(schema).\(name)()
                """)
        }
        _ = try await server.ask("CREATE TABLE \(schema).gate AS SELECT 1 AS one")
        try await trigger(
            "wait", on: slow, "WHILE EXISTS (SELECT 1 FROM \(schema).gate) LOOP PERFORM pg_sleep(0.01); END LOOP")
        if let poison { try await trigger("fail", on: keys[poison], "RAISE EXCEPTION ''poison''") }
        let first = Task { try await store.advance(slow, to: 1) }
        try await eventually("the first batch is at the gate") {
            try await server.ask("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'") == "1"
        }
        return Gated(store: store, keys: keys, seen: seen, server: server, first: first) {
            _ = try await server.ask("DELETE FROM \(schema).gate")
        }
    }

    /// Has all callers wait in line, then opens the gate.
    private func together(_ gated: Gated) async throws -> [Result<AdvanceOutcome, any Error>] {
        let (store, keys) = (gated.store, gated.keys)
        async let outcomes = inOrder(keys.count) { index -> Result<AdvanceOutcome, any Error> in
            do { return .success(try await store.advance(keys[index], to: 1)) } catch {
                return .failure(error)
            }
        }
        try await eventually("all wait") { gated.seen.highest("waiting") >= keys.count }
        try await gated.open()
        return try await outcomes
    }

    @Test("callers who wait together are committed together")
    func commits() async throws {
        let gated = try await gated()
        let transactions = { @Sendable () async throws -> Int in
            let text = try await onThread { try gated.server.query("SELECT txid_current()") }
            return try #require(Int(text))
        }
        let before = try await transactions()
        let outcomes = try await together(gated)
        #expect(outcomes.allSatisfy { (try? $0.get()) == .advanced(previous: 0) })
        #expect(try await gated.first.value == .advanced(previous: 0))
        // One for all of them, and what this test does itself.
        let used = try await transactions() - before
        #expect(used <= 5, "\(used) transactions for \(Self.callers) assertions")
        await gated.store.close()
    }

    @Test("one caller whose statement fails harms none of those who are committed with it")
    func poison() async throws {
        let gated = try await gated(poison: 17)
        let outcomes = try await together(gated)
        for (index, outcome) in outcomes.enumerated() {
            if index == 17 {
                #expect(throws: StoreFault.self) { try outcome.get() }
            } else {
                #expect(try outcome.get() == .advanced(previous: 0))
            }
        }
        #expect(gated.seen.details("batch-refused").contains { $0.contains("poison") })
        await gated.store.close()
    }

    @Test("a key and a challenge that somebody else holds stop those alone who need them")
    func locks() async throws {
        let url = try await PostgresServer.sharedWithEmptyStore().url
        let store = try await SQLTrustStore.postgres(url)
        let keys = try await Sample.keys(20, in: store)
        let challenge = Sample.challenge()
        let held = try await HeldTransaction(url) { session in
            try session.run("SELECT 1 FROM attested_keys WHERE id = $1 FOR UPDATE", .bytes(keys[0].bytes))
            _ = try session.spend(SpentName(challenge), at: Sample.now)
        }
        let late = [
            Task { try await store.advance(keys[0], to: 1) },
            Task { try await store.advance(keys[1], to: 1, spending: challenge) },
        ]
        // Neither is given back before these are answered.
        let outcomes = try await race(18) { try await store.advance(keys[$0 + 2], to: 1) }
        #expect(outcomes.allSatisfy { $0 == .advanced(previous: 0) })
        #expect(try await store.key(keys[0])?.counter == 0)
        try await held.end()
        for task in late { #expect(try await task.value == .advanced(previous: 0)) }
        await store.close()
    }

    @Test("the answer of a batch is lost: each of its callers is told the same, and what was committed stays")
    func lostAnswer() async throws {
        let (relay, url, directURL) = try await PostgresRelay.beforeEmptyStore()
        defer { relay.stop() }
        let direct = try await SQLTrustStore.postgres(directURL)
        let keys = try await Sample.keys(Self.callers, in: direct)
        let store = try await SQLTrustStore.postgres(url)
        relay.set(.losesOneCommit)
        let outcomes = try await inOrder(keys.count) { index -> Result<AdvanceOutcome, any Error> in
            do { return .success(try await store.advance(keys[index], to: 1)) } catch {
                return .failure(error)
            }
        }
        var lost = 0
        for (id, outcome) in zip(keys, outcomes) {
            switch outcome {
            case .success(let outcome): #expect(outcome == .advanced(previous: 0))
            case .failure(let error):
                lost += 1
                #expect((error as? StoreFault)?.code == "store.unavailable")
            }
            // The server may still be at it when the connection has broken.
            try await eventually("the commit arrived") { try await direct.key(id)?.counter == 1 }
        }
        #expect(lost >= 1)
        await store.close()
        await direct.close()
    }

    @Test("a connection that the server closed while nobody asked is replaced, and no caller is refused")
    func closedConnections() async throws {
        let name = "closed_\(UUID().uuidString.prefix(8))"
        let (server, base) = try await PostgresServer.sharedWithEmptyStore()
        let url = base + "&application_name=\(name)"
        let store = try await SQLTrustStore.postgres(url)
        let keys = try await Sample.keys(8, in: store)
        for counter in 1...5 as ClosedRange<UInt32> {
            let outcomes = try await race(keys.count) {
                try await store.advance(keys[$0], to: counter)
            }
            #expect(outcomes.allSatisfy { $0 == .advanced(previous: counter - 1) })
            _ = try await server.ask(
                "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE application_name = '\(name)'")
        }
        await store.close()
    }
}
