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

/// A real PgBouncer between the store and its server.
@Suite(
    .serialized,
    .enabled(if: PostgresServer.isAvailable && PgBouncer.isAvailable, "needs PostgreSQL and PgBouncer"))
struct PostgresPoolerTests {
    /// A pooler before an empty database of the shared server.
    private func pooler(_ pooling: PgBouncer.Pooling) async throws -> (pooler: PgBouncer, url: String) {
        let server = try await PostgresServer.shared.value
        let (pooler, url) = try await onThread {
            let database = try server.emptyDatabase()
            let pooler = try PgBouncer(pooling, before: server, database: database)
            return (pooler, pooler.url(of: database))
        }
        try await eventually("the pooler listens") { FreePort.accepts(pooler.port) }
        return (pooler, url)
    }

    /// What the contract says about races, on two nodes.
    private func race(_ nodes: [SQLTrustStore]) async throws {
        let id = Sample.keyId()
        let registration = Sample.registration(id: id)
        let made = Sample.challenge()
        let inserts = try await TrustStoreContract.race(40) {
            try await nodes[$0 % 2].insert(registration, spending: made, at: Sample.now)
        }
        #expect(inserts.count { if case .inserted = $0 { true } else { false } } == 1)
        let challenge = Sample.challenge()
        let spends = try await TrustStoreContract.race(200) {
            try await nodes[$0 % 2].spend(challenge, at: Sample.now)
        }
        #expect(spends.count { $0 == .spent } == 1)
        #expect(spends.count { $0 == .alreadyUsed } == 199)
        let advances = try await TrustStoreContract.race(200) { index in
            try await nodes[index % 2].advance(id, to: 5)
        }
        #expect(advances.count { $0 == .advanced(previous: 0) } == 1)
        #expect(advances.count { $0 == .refused(.replayed) } == 199)
        #expect(try await nodes[1].key(id)?.counter == 5)
    }

    @Test("pooled sessions: two nodes start together, insert, advance and spend as without a pooler")
    func sessions() async throws {
        let (pooler, url) = try await pooler(.session)
        defer { pooler.stop() }
        async let first = SQLTrustStore.postgres(url)
        async let second = SQLTrustStore.postgres(url)
        let nodes = try await [first, second]
        try await race(nodes)
        for node in nodes {
            try await node.check()
            await node.close()
        }
    }

    @Test(
        "a pooler that gives each transaction another session is refused at the start, and nothing is written",
        arguments: [PgBouncer.Pooling.transaction, .statement])
    func sharedSessions(_ pooling: PgBouncer.Pooling) async throws {
        let (pooler, url) = try await pooler(pooling)
        defer { pooler.stop() }
        let fault = await #expect(throws: StoreFault.self) { _ = try await SQLTrustStore.postgres(url) }
        #expect(fault?.code == "store.configuration")
        #expect(fault?.reason == PostgresConnection.sharedSessions)
        let database = url.split(separator: "/").last.map(String.init) ?? ""
        let server = try await PostgresServer.shared.value
        let tables = try await onThread {
            try server.query("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'", in: database)
        }
        #expect(tables == "0")
    }

    @Test("what the start did not see: no transaction runs in another connection's session, whatever the load")
    func underLoad() async throws {
        let (pooler, url) = try await pooler(.transaction)
        defer { pooler.stop() }
        let database = url.split(separator: "/").last.map(String.init) ?? ""
        let direct = try await SQLTrustStore.postgres(
            try await PostgresServer.shared.value.url(ofDatabase: database))
        let seen = Sightings()
        var configuration = PostgresConfiguration()
        configuration.queueTimeout = .seconds(60)
        configuration.pauseAfterFailure = .zero
        configuration.observe = { seen.add($0) }
        let clock = FixtureClock().storeClock(hasServer: true)
        let nodes = try (0..<2).map { _ in
            SQLTrustStore(
                engine: try PostgresEngine(url: url, configuration: configuration),
                schema: [Migration].postgres.newest, clock: clock)
        }
        let challenges = (0..<40).map { _ in Sample.challenge() }
        let outcomes = try await TrustStoreContract.race(400) { index -> (challenge: Int, outcome: SpendOutcome?) in
            do {
                return (index % 40, try await nodes[index % 2].spend(challenges[index % 40], at: Sample.now))
            } catch let fault as StoreFault where fault.code == "store.unavailable" {
                return (index % 40, nil)
            }
        }
        // At least once a transaction was about to run elsewhere, and did not.
        #expect(seen.details("connection-lost").contains(PostgresConnection.sharedSessions))
        var spent = 0
        for challenge in challenges where try await direct.isSpent(challenge) { spent += 1 }
        #expect(outcomes.count { $0.outcome == .spent } <= spent)
        for index in challenges.indices {
            let winners = outcomes.count { $0.challenge == index && $0.outcome == .spent }
            #expect(winners <= 1)
        }
        for node in nodes + [direct] { await node.close() }
    }
}
