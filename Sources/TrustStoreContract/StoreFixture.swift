// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials
import Synchronization
public import TrustStores

/// One store under test, and other nodes on the same data.
public struct StoreFixture: Sendable {
    package let store: any TrustStore
    package let clock: FixtureClock
    package let hasServerClock: Bool
    package let another: @Sendable () async throws -> any TrustStore
    package let reopened: (@Sendable () async throws -> any TrustStore)?

    /// Makes one from its parts.
    ///
    /// - Parameters:
    ///   - store: the store, empty.
    ///   - clock: the clock of all nodes, and of the database if it has one. The contract lets its time pass.
    ///   - hasServerClock: whether the store has its own clock (`time` of its `StoreReading`), as a database server's; it must then be `clock`.
    ///   - another: opens a second node on the same data.
    ///   - reopened: opens the store as the next process finds it, which the contract does not ask for; nil if nothing is kept.
    public init(
        store: any TrustStore, clock: FixtureClock, hasServerClock: Bool = false,
        another: @escaping @Sendable () async throws -> any TrustStore,
        reopened: (@Sendable () async throws -> any TrustStore)? = nil
    ) {
        self.store = store
        self.clock = clock
        self.hasServerClock = hasServerClock
        self.another = another
        self.reopened = reopened
    }
}

/// Time as the contract controls it: it passes when the contract says so.
public final class FixtureClock: Sendable {
    private let passed = Mutex(Duration.zero)

    /// A separate clock for each fixture.
    public init() {}

    /// What right clocks say now: 2026-11-18T11:06:40Z at the start.
    public var now: Date { Sample.now.addingTimeInterval(Double(passed.withLock { $0.components.seconds })) }

    /// Time since some start that never jumps.
    public var uptime: Duration { .seconds(1000) + passed.withLock { $0 } }

    /// The clock for a store of this package.
    ///
    /// - Parameter hasServer: whether it stands in for the database's own clock as well.
    public func storeClock(hasServer: Bool = false) -> StoreClock {
        if hasServer { return StoreClock(uptime: { self.uptime }, server: { self.now }) }
        return StoreClock(uptime: { self.uptime })
    }

    /// Lets time pass.
    package func advance(_ duration: Duration) { passed.withLock { $0 += duration } }
}
