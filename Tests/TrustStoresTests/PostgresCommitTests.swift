// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import Foundation
import Synchronization
import TestSupport
import Testing
import TrustStoreContract

@testable import TrustStores
@testable import TrustStoresPostgres

/// How firmly a commit is made, and how many connections make commits.
@Suite(.serialized, .enabled(if: PostgresServer.isAvailable, "needs PostgreSQL")) struct PostgresCommitTests {
    private func setting(_ url: String) async throws -> String? {
        let engine = try PostgresEngine(url: url, configuration: PostgresConfiguration())
        let setting = try await engine.transact { session in
            let rows = try session.run(SQLText("SELECT current_setting('synchronous_commit')")).rows
            return .commit(try rows.first?.optionalText(0))
        }
        await engine.close()
        return setting
    }

    @Test(
        "a commit is never asked for less firmly than the URL says, and never less than on",
        arguments: [
            ("off", "on"), ("local", "on"), ("on", "on"), ("remote_write", "remote_write"),
            ("remote_apply", "remote_apply"),
        ]
    )
    func firmness(_ asked: String, _ expected: String) async throws {
        let url = try await PostgresServer.sharedWithEmptyStore().url + "%20-csynchronous_commit%3D\(asked)"
        #expect(try await setting(url) == expected)
    }

    @Test("a commit is as firm after a reload as it was when the session began")
    func reload() async throws {
        let (server, url) = try await onThread {
            let server = try PostgresServer()
            return (server, try server.emptyStore())
        }
        let engine = try PostgresEngine(url: url, configuration: PostgresDeadlineTests.hasty { $0.writers = 2 })
        func settings() async throws -> [String?] {
            try await engine.transact { session in
                let row = try session.row(
                    "SELECT current_setting('synchronous_commit'), current_setting('client_min_messages')")
                return .commit([try row?.optionalText(0), try row?.optionalText(1)])
            }
        }
        #expect(try await settings() == ["on", "notice"])
        _ = try await onThread {
            try server.query("ALTER SYSTEM SET synchronous_commit = off")
            try server.query("ALTER ROLE sealward SET client_min_messages = error")
            try server.query("SELECT pg_reload_conf()")
        }
        try await eventually("the reload has reached other sessions") {
            try await server.ask("SHOW synchronous_commit") == "off"
        }
        #expect(try await settings() == ["on", "notice"])
        let later = try PostgresEngine(url: url, configuration: PostgresDeadlineTests.hasty { $0.writers = 2 })
        let level = try await later.transact { session in
            .commit(try session.row("SELECT current_setting('client_min_messages')")?.optionalText(0))
        }
        #expect(level == "notice")
        await later.close()
        await engine.close()
        try await PostgresServer.crashAll(server)
    }

    @Test("what a statement warns of refuses nothing; it is logged")
    func statementWarning() async throws {
        let (server, url) = try await PostgresServer.sharedWithEmptyStore()
        let seen = Sightings()
        let store = try await SQLTrustStore.postgres(
            url, configuration: PostgresDeadlineTests.hasty(seen))
        let schema = PostgresServer.schema(of: url)
        _ = try await server.ask(
            """
            CREATE FUNCTION \(schema).warn() RETURNS trigger LANGUAGE plpgsql AS
            $$ BEGIN RAISE WARNING 'numbers come to their end'; RETURN NEW; END $$;
            CREATE TRIGGER warn BEFORE INSERT OR UPDATE ON \(schema).attested_keys
            FOR EACH ROW EXECUTE FUNCTION \(schema).warn();
            """)
        let id = try await Sample.keys(1, in: store)[0]
        for counter in UInt32(1)...3 {
            let outcome = try await store.advance(id, to: counter)
            guard case .advanced = outcome else {
                Issue.record("\(outcome)")
                break
            }
        }
        #expect(seen.count("notice") >= 4)
        #expect(seen.count("connection-lost") == 0)
        await store.close()
    }

    @Test("a long read holds up no short one", .timeLimit(.minutes(2)))
    func longRead() async throws {
        let (server, url) = try await PostgresServer.sharedWithEmptyStore()
        let patient = PostgresDeadlineTests.hasty { configuration in
            configuration.answerTimeout = .seconds(300)
            configuration.queueTimeout = .seconds(300)
            configuration.statementTimeout = .seconds(300)
        }
        let store = try await SQLTrustStore.postgres(url, configuration: patient)
        let id = try await Sample.keys(1, in: store)[0]
        let held = try await HeldTransaction(url, patient) { session in
            try session.run(SQLText("LOCK TABLE audit_entries IN ACCESS EXCLUSIVE MODE"))
        }
        let slow = (0..<3).map { _ in Task { try await store.audit(after: nil, limit: 1) } }
        try await eventually("a long read waits") {
            try await server.ask(
                "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%audit_entries%'")
                != "0"
        }
        for _ in 0..<50 { #expect(try await store.key(id)?.id == id) }
        try await held.end()
        for task in slow { _ = try await task.value }
        await store.close()
    }

    @Test("remote_apply of the server stays: an answer comes once the standby shows the commit, and not before")
    func remoteApply() async throws {
        let (primary, standby, url) = try await onThread {
            let primary = try PostgresServer()
            let standby = try PostgresServer(standbyOf: primary)
            let url = try primary.emptyStore()
            try primary.query("ALTER SYSTEM SET synchronous_standby_names = '*'")
            try primary.query("ALTER SYSTEM SET synchronous_commit = 'remote_apply'")
            try primary.query("SELECT pg_reload_conf()")
            return (primary, standby, url)
        }
        try await eventually("the standby is synchronous, and the setting is in force") {
            try await primary.ask("SELECT sync_state, current_setting('synchronous_commit') FROM pg_stat_replication")
                == "sync|remote_apply"
        }
        #expect(try await setting(url) == "remote_apply")
        let store = try await SQLTrustStore.postgres(
            url, configuration: PostgresDeadlineTests.hasty { $0.answerTimeout = .seconds(60) })
        let schema = PostgresServer.schema(of: url)
        let look = { @Sendable (name: String) async throws -> String in
            try await standby.ask("SELECT count(*) FROM \(schema).secrets WHERE name = '\(name)'")
        }
        // Without a wait, and without luck: what was answered is there.
        for index in 0..<10 {
            _ = try await store.secret(named: "s\(index)", orElse: [1])
            #expect(try await look("s\(index)") == "1")
        }
        // The standby goes on to receive and to flush, and applies nothing: `on` would be answered now.
        _ = try await standby.ask("SELECT pg_wal_replay_pause()")
        let waiting = Task { try await store.secret(named: "late", orElse: [2]) }
        try await eventually("the commit is flushed on the standby, and waits") {
            try await primary.ask(
                """
                SELECT count(*) FROM pg_stat_activity, pg_stat_replication
                WHERE wait_event = 'SyncRep' AND flush_lsn > replay_lsn AND flush_lsn = sent_lsn
                """) == "1"
        }
        #expect(try await look("late") == "0")
        _ = try await standby.ask("SELECT pg_wal_replay_resume()")
        #expect(try await waiting.value == [2])
        #expect(try await look("late") == "1")
        await store.close()
        try await PostgresServer.crashAll(standby, primary)
    }

    @Test("Any number of verbs at once take 11 connections, and a server that is silent never has more than 22")
    func connectionCount() async throws {
        let (server, base) = try await PostgresServer.sharedWithEmptyStore()
        let name = "counted_\(UUID().uuidString.prefix(8))"
        let count = { @Sendable () async throws -> Int in
            let text = try await server.ask("SELECT count(*) FROM pg_stat_activity WHERE application_name = '\(name)'")
            return try #require(Int(text))
        }
        let seen = Sightings()
        var configuration = PostgresConfiguration()
        configuration.queueTimeout = .seconds(60)
        configuration.answerTimeout = .seconds(60)
        configuration.observe = { seen.add($0) }
        let url = base + "&application_name=\(name)"
        let store = try await SQLTrustStore.postgres(url, configuration: configuration)
        let id = try await Sample.keys(1, in: store)[0]
        func load(_ store: SQLTrustStore, verbs: Int = 500, of key: KeyIdentifier? = nil) async -> Int {
            await withTaskGroup(of: Bool.self) { group in
                for index in 0..<verbs {
                    group.addTask {
                        let challenge = Sample.challenge()
                        do {
                            switch index % 4 {
                            case 0: _ = try await store.spend(challenge, at: Sample.now)
                            case 1: _ = try await store.isSpent(challenge)
                            case 2: _ = try await store.inspect(at: Sample.now)
                            default:
                                let counter = UInt32(index)
                                _ = try await store.advance(key ?? Sample.keyId(), to: counter, spending: challenge)
                            }
                            return true
                        } catch {
                            return false
                        }
                    }
                }
                return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
            }
        }
        // A connection is opened when there is work for it: it may take several loads until each one has had some.
        try await eventually("every connection has had work") {
            #expect(await load(store, of: id) == 500)
            return seen.count("connected") >= 11
        }
        #expect(await load(store, of: id) == 500)
        // None was closed, so these are all that there ever were.
        #expect(seen.count("connected") == 11)
        #expect(try await count() == 11)
        await store.close()

        // The statements of this one wait for a lock, longer than it waits for them.
        configuration.answerTimeout = .milliseconds(500)
        configuration.queueTimeout = .milliseconds(500)
        configuration.statementTimeout = .seconds(60)
        let hasty = try await SQLTrustStore.postgres(url, configuration: configuration)
        let patient = PostgresDeadlineTests.hasty { configuration in
            configuration.statementTimeout = .seconds(60)
            configuration.answerTimeout = .seconds(60)
        }
        let held = try await HeldTransaction(base, patient) { session in
            try session.run(SQLText("LOCK TABLE spent_names IN ACCESS EXCLUSIVE MODE"))
        }
        var most = 0
        try await eventually("as many are set aside as may be") {
            _ = await load(hasty)
            most = max(most, try await count())
            // Assertions by unknown keys touch nothing that is locked, so the two connections that accept never hang.
            return seen.highest("set-aside") == 18
        }
        for _ in 0..<3 {
            _ = await load(hasty)
            most = max(most, try await count())
        }
        #expect(most <= 22)
        try await held.end()
        try await eventually("all is well again") { await load(hasty, verbs: 20) == 20 }
        #expect(try await count() < 22)
        await hasty.close()
    }
}
