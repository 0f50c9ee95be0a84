// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Hands out the places of items to workers, and their results to the one who reads them.
///
/// A worker that is `capacity` results ahead waits, so that memory stays bounded if reading is slower than the work.
final class ResultQueue<Value: Sendable>: Sendable {
    typealias Item = (index: Int, value: Value)

    private struct State {
        var next = 0
        var workers = 0
        var items: [Item] = []
        var reader: CheckedContinuation<[Item], Never>?
        var blocked: [CheckedContinuation<Void, Never>] = []
        var isClosed = false
    }

    private let state = Mutex(State())
    private let count: Int
    private let capacity: Int

    init(items: Int, capacity: Int) {
        count = items
        self.capacity = max(1, capacity)
    }

    // MARK: - Workers

    /// One more worker; called before it starts.
    func begin() { state.withLock { $0.workers += 1 } }

    /// The place of the next item; nil if there is none left.
    func take() -> Int? {
        state.withLock { state in
            guard state.next < count, !state.isClosed else { return nil }
            defer { state.next += 1 }
            return state.next
        }
    }

    func put(_ index: Int, _ value: Value) async {
        let item = (index: index, value: value)
        let (reader, isFull) = state.withLock { state -> (CheckedContinuation<[Item], Never>?, Bool) in
            if let reader = state.reader {
                state.reader = nil
                return (reader, false)
            }
            state.items.append(item)
            return (nil, state.items.count > capacity)
        }
        reader?.resume(returning: [item])
        guard isFull else { return }
        await withCheckedContinuation { continuation in
            let mayGoOn = state.withLock { state in
                if state.isClosed || state.items.count <= capacity { return true }
                state.blocked.append(continuation)
                return false
            }
            if mayGoOn { continuation.resume() }
        }
    }

    /// A worker has ended; the last one ends the results.
    func end() {
        let reader = state.withLock { state -> CheckedContinuation<[Item], Never>? in
            state.workers -= 1
            guard state.workers == 0 else { return nil }
            defer { state.reader = nil }
            return state.reader
        }
        reader?.resume(returning: [])
    }

    // MARK: - The reader

    /// The next results in the order of finishing, as many as there are and at most `most`; none after the last one, and once the queue is
    /// closed.
    func next(_ most: Int = 1) async -> [Item] {
        await withCheckedContinuation { continuation in
            let (items, isOver, blocked) = state.withLock {
                state -> ([Item], Bool, [CheckedContinuation<Void, Never>]) in
                if state.isClosed { return ([], true, []) }
                if state.items.isEmpty {
                    if state.workers == 0 { return ([], true, []) }
                    state.reader = continuation
                    return ([], false, [])
                }
                let items = Array(state.items.prefix(most))
                state.items.removeFirst(items.count)
                guard state.items.count <= capacity else { return (items, false, []) }
                defer { state.blocked = [] }
                return (items, false, state.blocked)
            }
            if !items.isEmpty || isOver { continuation.resume(returning: items) }
            for worker in blocked { worker.resume() }
        }
    }

    /// The reader is gone or a worker has failed: no more items are handed out, and all waiting ends.
    func close() {
        let (reader, blocked) = state.withLock { state in
            state.isClosed = true
            defer { (state.reader, state.blocked) = (nil, []) }
            return (state.reader, state.blocked)
        }
        reader?.resume(returning: [])
        for worker in blocked { worker.resume() }
    }
}
