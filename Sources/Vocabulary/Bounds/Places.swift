// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// A limited number of places for each key. Who finds none waits for one, in the order of coming.
package final class Places<Key: Hashable & Sendable>: Sendable {
    private struct Waiter {
        let number: UInt64
        let continuation: CheckedContinuation<Void, any Error>
    }

    private struct Line {
        var taken = 0
        var waiting: [Waiter] = []
    }

    private struct State {
        /// Those with a place that is taken.
        var lines: [Key: Line] = [:]
        var lastNumber: UInt64 = 0
    }

    private let state = Mutex(State())

    package init() {}

    /// Whether no place is taken; then nobody waits either.
    package var isEmpty: Bool { state.withLock { $0.lines.isEmpty } }

    /// Takes one of `limit` places, to be given back with ``leave(_:)``.
    ///
    /// - Throws: `CancellationError`; ``DeadlineFault`` after `wait` without a place; what ``endWaiting(for:with:)`` is given.
    package func take(_ key: Key, of limit: Int, within wait: Duration? = nil) async throws {
        let number = state.withLock { state in
            state.lastNumber &+= 1
            return state.lastNumber
        }
        let timer = wait.map { wait in
            Task {
                try await Task.sleep(for: wait)
                end(number, key, DeadlineFault())
            }
        }
        defer { timer?.cancel() }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                let answer: Result<Void, any Error>? = state.withLock { state in
                    if Task.isCancelled { return .failure(CancellationError()) }
                    if state.lines[key, default: Line()].taken < limit {
                        state.lines[key, default: Line()].taken += 1
                        return .success(())
                    }
                    state.lines[key]?.waiting.append(Waiter(number: number, continuation: continuation))
                    return nil
                }
                if let answer { continuation.resume(with: answer) }
            }
        } onCancel: {
            end(number, key, CancellationError())
        }
    }

    /// Gives a place to who waits longest, or frees it.
    package func leave(_ key: Key) {
        let next = state.withLock { state -> Waiter? in
            guard var line = state.lines[key] else { return nil }
            let next = line.waiting.isEmpty ? nil : line.waiting.removeFirst()
            if next == nil { line.taken -= 1 }
            state.lines[key] = line.taken > 0 ? line : nil
            return next
        }
        next?.continuation.resume()
    }

    /// Ends the wait of all who have no place of a key yet.
    package func endWaiting(for key: Key, with error: any Error) {
        let waiting = state.withLock { state in
            defer { state.lines[key]?.waiting = [] }
            return state.lines[key]?.waiting ?? []
        }
        for waiter in waiting { waiter.continuation.resume(throwing: error) }
    }

    /// The same for every key.
    package func endWaiting(with error: any Error) {
        for key in state.withLock({ Array($0.lines.keys) }) { endWaiting(for: key, with: error) }
    }

    private func end(_ number: UInt64, _ key: Key, _ error: any Error) {
        let waiter = state.withLock { state -> Waiter? in
            guard let index = state.lines[key]?.waiting.firstIndex(where: { $0.number == number }) else { return nil }
            return state.lines[key]?.waiting.remove(at: index)
        }
        waiter?.continuation.resume(throwing: error)
    }
}
