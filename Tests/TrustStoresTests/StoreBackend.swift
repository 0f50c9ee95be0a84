// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TestSupport
import Testing
import TrustStoresSQLite

@testable import TrustStores

/// One backend under contract.
struct StoreBackend: Sendable, CustomTestStringConvertible {
    let testDescription: String
    /// Makes an empty store.
    let make: @Sendable () async throws -> StoreFixture

    static let memory = StoreBackend(testDescription: "memory") {
        let clock = FixtureClock()
        let store = InMemoryTrustStore(clock: clock.storeClock(hasServer: false))
        return StoreFixture(store: store, clock: clock, another: { store }, reopened: nil)
    }

    static let sqlite = StoreBackend(testDescription: "SQLite") {
        let path = TemporaryFolder.shared.file("\(UUID().uuidString).sqlite")
        let fixed = FixtureClock()
        let clock = fixed.storeClock(hasServer: false)
        return StoreFixture(
            store: try SQLTrustStore.sqlite(at: path, clock: clock),
            clock: fixed,
            another: { try SQLTrustStore.sqlite(at: path, clock: clock) },
            reopened: { try SQLTrustStore.sqlite(at: path, clock: clock) }
        )
    }

    static let postgres = StoreBackend(testDescription: "PostgreSQL") {
        #if Postgres
            try await PostgresStores.fixture()
        #else
            throw StoreFault.unavailable("built without the trait Postgres")
        #endif
    }

    static var all: [StoreBackend] { [memory, sqlite] + (PostgresStores.areAvailable ? [postgres] : []) }

    /// The backends that keep what they were given.
    static var persistent: [StoreBackend] { all.filter { $0.testDescription != "memory" } }
}

/// One store and its neighbours.
struct StoreFixture: Sendable {
    let store: any TrustStore
    /// The monotonic clock of all nodes, and PostgreSQL's own.
    let clock: FixtureClock
    /// A second node on the same data.
    let another: @Sendable () async throws -> any TrustStore
    /// The store as the next process finds it; nil where nothing is kept.
    let reopened: (@Sendable () async throws -> any TrustStore)?
}

/// Time as the tests make it: starts at ``Sample/now``.
final class FixtureClock: Sendable {
    private let passed = Mutex(Duration.zero)

    /// What right clocks say now.
    var now: Date { Sample.now.addingTimeInterval(Double(passed.withLock { $0.components.seconds })) }

    /// Lets time pass.
    func advance(_ duration: Duration) { passed.withLock { $0 += duration } }

    /// As a store sees it; `hasServer` for a database that has a clock of its own.
    func storeClock(hasServer: Bool) -> StoreClock {
        let uptime: @Sendable () -> Duration = { self.uptime }
        guard hasServer else { return StoreClock(uptime: uptime) }
        return StoreClock(uptime: uptime, server: { self.now })
    }

    private var uptime: Duration { .seconds(1000) + passed.withLock { $0 } }
}

/// A folder on a real disk that goes when the tests end.
final class TemporaryFolder: Sendable {
    static let shared = TemporaryFolder()
    private let path: String

    private init() {
        path = NSTemporaryDirectory() + "sealward-stores-\(UUID().uuidString)"
        try? FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        atexit { try? FileManager.default.removeItem(atPath: TemporaryFolder.shared.path) }
    }

    func file(_ name: String) -> String { path + "/" + name }
}
