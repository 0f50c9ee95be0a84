// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Checks a store at most once in an interval, however many ask: all who ask in between get the same answer.
///
/// A check commits a write, so anybody who may ask for readiness could keep the writer busy otherwise.
package final class StoreProbe: Sendable {
    private let store: any TrustStore
    private let interval: Duration
    private let uptime: @Sendable () -> Duration
    private let state = Mutex(State())

    private struct State {
        var running: Task<StoreReading, any Error>?
        var last: (result: Result<StoreReading, any Error>, at: Duration)?
    }

    /// Checks `store` at most once in `interval`, measured by the monotonic `clock`.
    package init(_ store: any TrustStore, interval: Duration = .seconds(1), clock: StoreClock = .system) {
        self.store = store
        self.interval = interval
        uptime = clock.uptime
    }

    /// What the store said in the last interval, or says now.
    ///
    /// - Throws: the ``StoreFault`` of that check, to everybody who shares it.
    package func check() async throws -> StoreReading {
        let now = uptime()
        let (known, task) = state.withLock {
            state -> (Result<StoreReading, any Error>?, Task<StoreReading, any Error>?) in
            if let last = state.last, now - last.at < interval { return (last.result, nil) }
            if state.running == nil { state.running = Task { try await ask() } }
            return (nil, state.running)
        }
        if let known { return try known.get() }
        guard let task else { throw StoreFault.unavailable("nobody checks the store") }
        return try await task.value
    }

    private func ask() async throws -> StoreReading {
        let result: Result<StoreReading, any Error>
        do { result = .success(try await store.check()) } catch { result = .failure(error) }
        let end = uptime()
        state.withLock { state in
            state.running = nil
            state.last = (result, end)
        }
        return try result.get()
    }
}
