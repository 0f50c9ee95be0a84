// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TestSupport
import TrustStoreContract

@testable import TrustStores
@testable import TrustStoresPostgres

/// PostgreSQL stores for these tests.
enum PostgresStores {
    /// A new store and its other nodes.
    ///
    /// - Parameter prepare: what is done to the database after a first node made the schema and left.
    static func fixture(
        server: PostgresServer? = nil, prepare: (@Sendable (PostgresServer, String) async throws -> Void)? = nil
    ) async throws -> StoreFixture {
        var chosenServer = server
        if chosenServer == nil { chosenServer = try await PostgresServer.shared.value }
        guard let url = try chosenServer?.emptyStore() else { throw CancellationError() }
        if let chosenServer, let prepare {
            let first = try await SQLTrustStore.postgres(url)
            await first.close()
            try await prepare(chosenServer, url)
        }
        var configuration = PostgresConfiguration()
        configuration.writers = 6
        let clock = FixtureClock()
        configuration.clock = clock.storeClock(hasServer: true)
        let chosen = configuration
        return StoreFixture(
            store: try await SQLTrustStore.postgres(url, configuration: chosen), clock: clock, hasServerClock: true,
            another: { try await SQLTrustStore.postgres(url, configuration: chosen) },
            reopened: { try await SQLTrustStore.postgres(url, configuration: chosen) })
    }
}

/// A transaction that keeps its locks until it is ended.
struct HeldTransaction {
    private let engine: PostgresEngine
    private let release = DispatchSemaphore(value: 0)
    private let holding: Task<Void, any Error>

    init(
        _ url: String, _ configuration: PostgresConfiguration = PostgresConfiguration(),
        _ lock: @escaping @Sendable (any SQLSession) throws -> Void
    ) async throws {
        let (engine, release) = (try PostgresEngine(url: url, configuration: configuration), release)
        self.engine = engine
        let isHeld = Mutex(false)
        holding = Task {
            try await engine.transact { session in
                try lock(session)
                isHeld.withLock { $0 = true }
                release.wait()
                return .rollback(())
            }
        }
        try await eventually("the locks are held") { isHeld.withLock { $0 } }
    }

    func end() async throws {
        release.signal()
        try await holding.value
        await engine.close()
    }
}
