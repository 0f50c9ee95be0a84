// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Something that is found out at most once in an interval, however many ask: all who ask in between get the same answer, also if it is a fault.
package final class SharedAnswer<Value: Sendable>: Sendable {
    private let interval: Duration
    private let uptime: @Sendable () -> Duration
    private let find: @Sendable () async throws -> Value
    private let state = Mutex(State())

    private struct State {
        var running: Task<Value, any Error>?
        var last: (result: Result<Value, any Error>, at: Duration)?
    }

    /// - Parameters:
    ///   - interval: how long an answer counts, from its coming.
    ///   - uptime: a clock that is never set.
    ///   - find: finds it out; ends within a time of its own.
    package init(
        interval: Duration, uptime: @escaping @Sendable () -> Duration,
        find: @escaping @Sendable () async throws -> Value
    ) {
        self.interval = interval
        self.uptime = uptime
        self.find = find
    }

    /// The answer of the last interval, or one of now.
    ///
    /// - Throws: what `find` threw, to everybody who shares its answer.
    package func value() async throws -> Value {
        let now = uptime()
        let (known, task) = state.withLock { state -> (Result<Value, any Error>?, Task<Value, any Error>?) in
            if let last = state.last, now - last.at < interval { return (last.result, nil) }
            let task = state.running ?? Task { try await ask() }
            state.running = task
            return (nil, task)
        }
        if let known { return try known.get() }
        guard let task else { throw CancellationError() }
        return try await task.value
    }

    private func ask() async throws -> Value {
        let result: Result<Value, any Error>
        do { result = .success(try await find()) } catch { result = .failure(error) }
        let end = uptime()
        state.withLock { state in
            state.running = nil
            state.last = (result, end)
        }
        return try result.get()
    }
}
