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

/// Numbers that grow.
private final class Counter: Sendable {
    private let last = Mutex<UInt32>(0)

    func next() -> UInt32 {
        last.withLock { last in
            last += 1
            return last
        }
    }
}

/// Real servers that fall silent, lose answers, and take each other's place.
@Suite(.serialized, .enabled(if: PostgresServer.isAvailable, "needs PostgreSQL")) struct PostgresFailoverTests {
    private func write(_ store: SQLTrustStore) async throws -> String {
        let name = UUID().uuidString
        _ = try await store.secret(named: name, orElse: [1])
        return name
    }

    /// A primary with an empty store, its standby, the schema of the store and a URL of both.
    private func pair() async throws -> (old: PostgresServer, new: PostgresServer, schema: String, url: String) {
        try await onThread {
            let old = try PostgresServer()
            _ = try old.emptyStore()
            let schema = try old.query("SELECT max(nspname) FROM pg_namespace WHERE nspname LIKE 'store%'")
            let new = try PostgresServer(standbyOf: old)
            return (old, new, schema, PostgresServer.url(of: schema, at: [old.port, new.port]))
        }
    }

    /// Waits until a standby has everything that its primary has now.
    private func caughtUp(_ standby: PostgresServer, _ primary: PostgresServer) async throws {
        try await eventually("the standby has everything") {
            try await onThread {
                let sent = try primary.query("SELECT pg_current_wal_lsn()")
                return try standby.query("SELECT pg_last_wal_replay_lsn() >= '\(sent)'") == "t"
            }
        }
    }

    private func works(_ store: SQLTrustStore) async -> Bool { (try? await write(store)) != nil }

    @Test("a server that logs in and then is silent is given up, new requests too, and all is well once it speaks")
    func silence() async throws {
        let (relay, url, _) = try await PostgresRelay.beforeEmptyStore()
        defer { relay.stop() }
        let seen = Sightings()
        let store = try await SQLTrustStore.postgres(
            url, configuration: PostgresDeadlineTests.hasty(seen))
        _ = try await write(store)
        relay.set(.holdsStatements)
        for _ in 0..<6 {
            let start = ContinuousClock.now
            await #expect(throws: StoreFault.unavailable("")) { _ = try await write(store) }
            await #expect(throws: StoreFault.unavailable("")) { _ = try await store.key(Sample.keyId()) }
            #expect(Measuring.isOff || ContinuousClock.now - start < .seconds(20))
        }
        // What was begun holds its locks.
        let held = seen.count("locks-held")
        #expect(held > 0 && held <= seen.count("overdue"))
        relay.set(.open)
        relay.stopConnections()
        try await eventually("writing works again") { await works(store) }
        relay.set(.holdsStatements)
        let stuck = Task { try? await write(store) }
        let start = ContinuousClock.now
        await store.close()
        _ = await stuck.value
        #expect(Measuring.isOff || ContinuousClock.now - start < .seconds(20))
    }

    @Test("one lost answer of a COMMIT is one fault; the server is not called down")
    func lostCommit() async throws {
        let (relay, url, _) = try await PostgresRelay.beforeEmptyStore()
        defer { relay.stop() }
        let configuration = PostgresDeadlineTests.hasty { configuration in
            configuration.answerTimeout = .seconds(5)
            configuration.pauseAfterFailure = .seconds(60)
        }
        let store = try await SQLTrustStore.postgres(url, configuration: configuration)
        relay.set(.losesOneCommit)
        let fault = await #expect(throws: StoreFault.self) { _ = try await write(store) }
        #expect(fault?.code == "store.unavailable")
        for _ in 0..<20 { _ = try await write(store) }
        _ = try await store.key(Sample.keyId())
        await store.close()
    }

    @Test("one connection that cannot be opened beside others is tried again; no caller is refused")
    func oneFailedDial() async throws {
        let (relay, url, _) = try await PostgresRelay.beforeEmptyStore()
        defer { relay.stop() }
        let seen = Sightings()
        let configuration = PostgresDeadlineTests.hasty(seen) { configuration in
            configuration.writers = 6
            configuration.connectTimeout = .seconds(5)
            configuration.answerTimeout = .seconds(10)
            configuration.queueTimeout = .seconds(10)
        }
        let store = try await SQLTrustStore.postgres(url, configuration: configuration)
        _ = try await write(store)
        relay.set(.refusesOneConnection)
        // Writers that have no connection yet open one, the first of them in vain.
        try await eventually("one attempt fails") {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<12 { group.addTask { _ = try await write(store) } }
                try await group.waitForAll()
            }
            return seen.count("unreachable") > 0
        }
        #expect(seen.count("unreachable") == 1)
        await store.close()
    }

    @Test("what the server says besides goes to the observer in one safe line")
    func notices() async throws {
        let url = try await PostgresServer.sharedWithEmptyStore().url
        let seen = Sightings()
        let store = try await SQLTrustStore.postgres(
            url, configuration: PostgresDeadlineTests.hasty(seen))
        try await store.engine.transact { session in
            try session.run(SQLText("DO 'BEGIN RAISE NOTICE ''one\u{1B}[31m\ntwo''; RAISE WARNING ''three''; END'"))
            return .commit(())
        }
        #expect(seen.details("notice").contains("NOTICE: one\\u{1b}[31m; two (00000)"))
        #expect(seen.details("notice").contains("WARNING: three (01000)"))
        #expect(seen.count("migrating") >= 1)
        await store.close()
    }

    @Test(
        "a frozen synchronous standby: faults in time, a bounded number of connections, nothing lost, recovery by itself"
    )
    func frozenStandby() async throws {
        let primary = try await onThread { try PostgresServer() }
        let standby = try await onThread { try PostgresServer(standbyOf: primary) }
        let url = try await onThread {
            let url = try primary.emptyStore()
            try primary.query("ALTER SYSTEM SET synchronous_standby_names = '*'")
            try primary.query("SELECT pg_reload_conf()")
            return url
        }
        let seen = Sightings()
        let configuration = PostgresDeadlineTests.hasty(seen) { configuration in
            configuration.writers = 3
            configuration.answerTimeout = .milliseconds(900)
        }
        let store = try await SQLTrustStore.postgres(url, configuration: configuration)
        try await eventually("the standby is synchronous") {
            try await primary.ask("SELECT sync_state FROM pg_stat_replication") == "sync"
        }
        _ = try await write(store)
        try standby.signal(SIGSTOP)
        defer { try? standby.signal(SIGCONT) }
        // Whoever cancels a commit that waits makes it visible; no caller is told that it is safe.
        let canceled = Task { try await store.secret(named: "canceled", orElse: [1]) }
        try await eventually("a commit waits for the standby and is canceled") {
            try await primary.ask(
                "SELECT count(pg_cancel_backend(pid)) FROM pg_stat_activity WHERE wait_event = 'SyncRep'") == "1"
        }
        let fault = await #expect(throws: StoreFault.self) { _ = try await canceled.value }
        #expect(fault?.reason == "PostgreSQL committed with a warning")
        let rounds = LongForm.isAsked ? 60 : 8
        for _ in 0..<rounds {
            let slowest = await withTaskGroup(of: Duration.self) { group in
                for _ in 0..<6 {
                    group.addTask {
                        let start = ContinuousClock.now
                        await #expect(throws: StoreFault.unavailable("")) { _ = try await write(store) }
                        return ContinuousClock.now - start
                    }
                }
                return await group.reduce(Duration.zero) { max($0, $1) }
            }
            #expect(Measuring.isOff || slowest < .seconds(20))
            // What only reads goes on.
            _ = try await store.key(Sample.keyId())
        }
        let count = try await primary.ask("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'sealward'")
        // Three writers with two connections each, and the reader.
        #expect(try #require(Int(count)) <= 7)
        #expect(seen.count("overdue") <= 7 && seen.highest("set-aside") <= 6)
        // Once all are set aside, nobody waits for another timeout.
        let start = ContinuousClock.now
        await #expect(throws: StoreFault.unavailable("")) { _ = try await write(store) }
        #expect(Measuring.isOff || ContinuousClock.now - start < .seconds(5))
        try standby.signal(SIGCONT)
        try await eventually("writing works again") { await works(store) }
        for _ in 0..<20 { _ = try await write(store) }
        await store.close()
        try await PostgresServer.crashAll(standby, primary)
    }

    @Test("an old primary that comes back after a failover is refused, and so are the connections to it")
    func oldPrimary() async throws {
        let (old, new, schema, url) = try await pair()
        let seen = Sightings()
        let configuration = PostgresDeadlineTests.hasty(seen) { configuration in
            configuration.connectTimeout = .seconds(3)
            configuration.answerTimeout = .seconds(5)
        }
        let store = try await SQLTrustStore.postgres(url, configuration: configuration)
        _ = try await write(store)
        try await caughtUp(new, old)
        // A standby alone is no store: the program waits until it is promoted.
        await #expect(throws: StoreFault.unavailable("")) {
            let url = PostgresServer.url(of: schema, at: [new.port])
            _ = try await SQLTrustStore.postgres(url, configuration: PostgresDeadlineTests.hasty())
        }
        try await PostgresServer.crashAll(old)
        try await onThread { try new.promote() }
        try await eventually("the promoted standby is used") { await works(store) }
        let name = try await write(store)
        // Nobody fenced the old one; it is the first host of the list, and for some time the only one.
        try await onThread { try old.start() }
        try await PostgresServer.crashAll(new)
        for _ in 0..<10 {
            await #expect(throws: StoreFault.unavailable("")) { _ = try await write(store) }
            try await Task.sleep(for: .milliseconds(50))
        }
        try await eventually("the refusal was reported") {
            seen.details("other-server").contains { $0.contains("old primary") }
        }
        try await onThread { try new.start() }
        try await eventually("the promoted one is used again") { await works(store) }
        let kept = try await store.secret(named: name, orElse: [2])
        #expect(kept == [1])
        let inOld = try await old.ask("SELECT count(*) FROM \(schema).secrets")
        #expect(inOld == "1")
        await store.close()
        try await PostgresServer.crashAll(old, new)
    }

    @Test("commits that hung before the primary fell silent keep nobody from the promoted standby")
    func hungThenSilent() async throws {
        let (old, new, _, url) = try await pair()
        let seen = Sightings()
        let configuration = PostgresDeadlineTests.hasty(seen) { $0.connectTimeout = .seconds(3) }
        let store = try await SQLTrustStore.postgres(url, configuration: configuration)
        let keys = try await Sample.keys(16, in: store)
        try await caughtUp(new, old)
        try await onThread {
            _ = try old.query("ALTER SYSTEM SET synchronous_standby_names = 'nosuch'")
            _ = try old.query("SELECT pg_reload_conf()")
        }
        let taken = Counter()
        @Sendable func accept(_ key: KeyIdentifier) async -> Bool {
            guard let outcome = try? await store.advance(key, to: taken.next()) else { return false }
            return if case .advanced = outcome { true } else { false }
        }
        try await eventually("every connection hangs and is set aside") {
            let before = ContinuousClock.now
            await withTaskGroup(of: Void.self) { group in
                for key in keys { group.addTask { _ = await accept(key) } }
            }
            // Nobody waits any more: everyone is refused at once.
            return seen.highest("set-aside") >= PostgresLink.mostConnections
                && (Measuring.isOff || ContinuousClock.now - before < .milliseconds(300))
        }
        try old.signal(SIGSTOP)
        defer { try? old.signal(SIGCONT) }
        try await onThread { try new.promote() }
        try await eventually("the promoted standby is used") { await accept(keys[0]) }
        for key in keys { #expect(await accept(key)) }
        await store.close()
        try old.signal(SIGCONT)
        try await PostgresServer.crashAll(old, new)
    }

    @Test("the isolation that a database has by default changes nothing")
    func isolation() async throws {
        let server = try await onThread { try PostgresServer() }
        let url = try await onThread {
            let url = try server.emptyStore()
            _ = try server.query("ALTER SYSTEM SET default_transaction_isolation = 'serializable'")
            _ = try server.query("SELECT pg_reload_conf()")
            return url
        }
        let store = try await SQLTrustStore.postgres(url)
        let isolation = try await store.engine.transact { session in
            .commit(try session.row("SHOW transaction_isolation")?.text(0))
        }
        #expect(isolation == "read committed")
        await store.close()
        try await PostgresServer.crashAll(server)
    }

    @Test("a primary that falls silent: the promoted standby is used, with the default limits")
    func silentPrimary() async throws {
        let (old, new, _, url) = try await pair()
        let store = try await SQLTrustStore.postgres(url)
        let name = try await write(store)
        try await caughtUp(new, old)
        try old.signal(SIGSTOP)
        defer { try? old.signal(SIGCONT) }
        // On a connection that is open it ends with a fault, on a new one it finds the other server: either way in time.
        let onItsWay = Task { _ = try? await write(store) }
        try await onThread { try new.promote() }
        try await eventually("the promoted standby is used") { await works(store) }
        await onItsWay.value
        let kept = try await store.secret(named: name, orElse: [2])
        #expect(kept == [1])
        // A process that starts now gives the silent one up, which the URL names first.
        let other = try await SQLTrustStore.postgres(url)
        await other.close()
        await store.close()
        try old.signal(SIGCONT)
        try await PostgresServer.crashAll(old, new)
    }
}
