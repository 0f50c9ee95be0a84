// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

#if Postgres
    import Synchronization
    import TrustStores

    /// What all connections of one engine share.
    final class PostgresFacts: Sendable {
        let address: PostgresAddress
        let configuration: PostgresConfiguration
        let health: PostgresHealth
        let lineage = PostgresLineage()
        private let closing = Mutex<ContinuousClock.Instant?>(nil)
        private let aside = Mutex(0)

        init(address: PostgresAddress, configuration: PostgresConfiguration) {
            self.address = address
            self.configuration = configuration
            health = PostgresHealth(pause: configuration.pauseAfterFailure)
        }

        func observe(_ kind: StoreObservation.Kind, _ detail: String = "", value: Int? = nil) {
            configuration.observe(StoreObservation(kind, detail: detail, value: value))
        }

        /// Counts connections that are set aside.
        func countAside(_ change: Int) {
            let count = aside.withLock { count in
                count += change
                return count
            }
            observe(.setAside, value: count)
        }

        // MARK: Closing

        /// Gives all waits, whatever their own deadlines, this end.
        func close(at instant: ContinuousClock.Instant) { closing.withLock { $0 = instant } }

        /// When the engine stops to wait for anything; nil while it is open.
        var closingDeadline: ContinuousClock.Instant? { closing.withLock { $0 } }

        /// When a wait with this deadline ends: sooner if the engine closes.
        func end(of deadline: ContinuousClock.Instant) -> ContinuousClock.Instant {
            closingDeadline.map { min($0, deadline) } ?? deadline
        }

        /// The limit of one connection to one address.
        var connectTimeout: Duration { address.connectTimeout ?? configuration.connectTimeout }
    }

    /// When the server was last not reached, shared by all connections, so that callers are not kept waiting for a server that is down.
    ///
    /// Only a connection that cannot be opened counts: one that breaks says nothing about the server.
    final class PostgresHealth: Sendable {
        private let downUntil = Mutex<ContinuousClock.Instant?>(nil)
        private let pause: Duration

        init(pause: Duration) { self.pause = pause }

        var isDown: Bool { downUntil.withLock { $0.map { $0 > .now } ?? false } }
        func failed() { downUntil.withLock { $0 = .now + pause } }
        func worked() { downUntil.withLock { $0 = nil } }
    }
#endif
