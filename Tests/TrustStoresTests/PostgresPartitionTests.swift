// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import TrustStoreContract
import TrustStores
import TrustStoresPostgres

/// `packaging/postgres-partition.sql`: a store whose large tables are split by key id is the same store.
@Suite(.enabled(if: PostgresServer.isAvailable, "needs PostgreSQL")) struct PostgresPartitionTests {
    /// A server of its own: each promise leaves connections of several nodes behind, and those of the whole contract twice are more than a
    /// server takes.
    private static let server = Task<PostgresServer, any Error> { try await onThread { try PostgresServer() } }

    private static func partition(_ server: PostgresServer, _ url: String, into count: String = "8") async throws {
        let script = URL(fileURLWithPath: LoopbackServers.repository + "/packaging/postgres-partition.sql")
        let text = try String(contentsOf: script, encoding: .utf8)
        try await onThread { _ = try server.runScript(text, variables: ["partitions": count], at: url) }
    }

    /// `make test` takes one promise of four: the SQL is that of every store on PostgreSQL, whose promises ``StoreContractTests`` tries.
    @Test(arguments: LongForm.share(of: StoreContract.cases, one: 4))
    func aPartitionedStoreKeepsEveryPromise(_ promise: StoreContract.Case) async throws {
        try await promise.run {
            try await PostgresStores.fixture(server: Self.server.value) { server, url in
                try await Self.partition(server, url)
            }
        }
    }

    @Test func whatWasStoredStays() async throws {
        let server = try await Self.server.value
        let url = try await onThread { try server.emptyStore() }
        let store = try await SQLTrustStore.postgres(url)
        let ids = (0..<40).map { _ in Sample.keyId() }
        for id in ids {
            _ = try await store.insert(Sample.registration(id: id), spending: Sample.challenge(), at: Sample.now)
        }
        let before = try await store.keys(matching: KeyFilter(), after: nil, limit: 100)
        #expect(before.keys.count == ids.count)

        // While a node runs: it goes on without a restart.
        try await Self.partition(server, url)
        #expect(try await store.keys(matching: KeyFilter(), after: nil, limit: 100) == before)
        #expect(try await store.revoke(ids[0], code: nil, at: Sample.now) == .revoked)
        #expect(try await store.key(ids[0])?.revokedAt != nil)
        let late = Sample.registration(id: Sample.keyId())
        _ = try await store.insert(late, spending: Sample.challenge(), at: Sample.now)
        #expect(try await store.check().time != nil)
        await store.close()

        let again = try await SQLTrustStore.postgres(url)
        #expect(try await again.keys(matching: KeyFilter(), after: nil, limit: 100).keys.count == ids.count + 1)
        await again.close()
    }

    @Test func whatCannotBePartitionedIsLeftAlone() async throws {
        let server = try await Self.server.value
        let url = try await onThread { try server.emptyStore() }
        await #expect(throws: PostgresServer.Failure.self) { try await Self.partition(server, url) }
        let store = try await SQLTrustStore.postgres(url)
        for count in ["1", "5000", "many"] {
            await #expect(throws: PostgresServer.Failure.self) {
                try await Self.partition(server, url, into: count)
            }
        }
        try await Self.partition(server, url, into: "2")
        let second = await #expect(throws: PostgresServer.Failure.self) { try await Self.partition(server, url) }
        #expect(second?.description.contains("partitioned already") == true)
        await store.close()
    }
}
