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
        /// The newest question, which keeps its answer.
        var question: Task<Value, any Error>?
        /// When it was answered; nil while it is under way.
        var answeredAt: Duration?
    }

    /// - Parameters:
    ///   - interval: how long an answer counts, from its coming.
    ///   - uptime: a clock that is never set.
    ///   - find: finds it out; must end by itself.
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
        let question = state.withLock { state in
            let isOver = state.answeredAt.map { now - $0 >= interval } ?? false
            if let question = state.question, !isOver { return question }
            let question = Task { try await ask() }
            state = State(question: question)
            return question
        }
        return try await question.value
    }

    private func ask() async throws -> Value {
        defer {
            let end = uptime()
            state.withLock { $0.answeredAt = end }
        }
        return try await find()
    }
}
