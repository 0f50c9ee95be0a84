// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

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
/// Only a connection that cannot be opened counts, and only while none is open: one that breaks, and one that cannot be opened
/// beside others, say nothing about the server.
final class PostgresHealth: Sendable {
    private let state = Mutex<(downUntil: ContinuousClock.Instant?, open: Int)>((nil, 0))
    private let pause: Duration

    init(pause: Duration) { self.pause = pause }

    var isDown: Bool { state.withLock { $0.open == 0 && $0.downUntil.map { $0 > .now } ?? false } }

    /// Counts connections that are in use, not those that are set aside.
    func countOpen(_ change: Int) {
        state.withLock {
            $0.open += change
            if change > 0 { $0.downUntil = nil }
        }
    }

    /// A connection could not be opened: how long to wait before the next attempt beside connections that are open; nil if none is,
    /// so that the server counts as down.
    func failed() -> Duration? {
        state.withLock {
            if $0.open > 0 { return pause }
            $0.downUntil = .now + pause
            return nil
        }
    }
}

/// Takes the notices of one connection, which libpq would print to standard error. Called on the connection's own thread.
final class PostgresNotices {
    private let facts: PostgresFacts
    private(set) var warnings = 0

    init(_ facts: PostgresFacts) { self.facts = facts }

    func take(_ severity: String?, _ error: ServerError) {
        let severity = severity ?? "NOTICE"
        if severity == "WARNING" { warnings += 1 }
        facts.observe(.notice, facts.address.safe("\(severity): \(error.message) (\(error.state))"))
    }
}
