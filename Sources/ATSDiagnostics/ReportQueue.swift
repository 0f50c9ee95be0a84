// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Hands out the places of targets to workers, and their reports to the one who writes them down.
///
/// A worker that is `capacity` reports ahead waits, so that memory stays bounded when writing is slower than checking.
final class ReportQueue: Sendable {
    typealias Item = (index: Int, report: TargetReport)

    private struct State {
        var nextTarget = 0
        var workers = 0
        var items: [Item] = []
        var reader: CheckedContinuation<Item?, Never>?
        var blocked: [CheckedContinuation<Void, Never>] = []
        var isClosed = false
    }

    private let state = Mutex(State())
    private let targets: Int
    private let capacity: Int

    init(targets: Int, capacity: Int) {
        self.targets = targets
        self.capacity = max(1, capacity)
    }

    // MARK: - Workers

    /// One more worker; called before it starts.
    func begin() { state.withLock { $0.workers += 1 } }

    /// The place of the next target; nil when there is none left.
    func take() -> Int? {
        state.withLock { state in
            guard state.nextTarget < targets, !state.isClosed else { return nil }
            defer { state.nextTarget += 1 }
            return state.nextTarget
        }
    }

    func put(_ index: Int, _ report: TargetReport) async {
        let item = (index: index, report: report)
        let (reader, isFull) = state.withLock { state -> (CheckedContinuation<Item?, Never>?, Bool) in
            if let reader = state.reader {
                state.reader = nil
                return (reader, false)
            }
            state.items.append(item)
            return (nil, state.items.count > capacity)
        }
        reader?.resume(returning: item)
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

    /// A worker has ended; the last one ends the reports.
    func end() {
        let reader = state.withLock { state -> CheckedContinuation<Item?, Never>? in
            state.workers -= 1
            guard state.workers == 0 else { return nil }
            defer { state.reader = nil }
            return state.reader
        }
        reader?.resume(returning: nil)
    }

    // MARK: - The reader

    /// The next report in the order of finishing; nil after the last one.
    func next() async -> Item? {
        await withCheckedContinuation { continuation in
            let (item, isOver, blocked) = state.withLock { state -> (Item?, Bool, [CheckedContinuation<Void, Never>]) in
                if state.items.isEmpty {
                    if state.workers == 0 { return (nil, true, []) }
                    state.reader = continuation
                    return (nil, false, [])
                }
                let item = state.items.removeFirst()
                guard state.items.count <= capacity else { return (item, false, []) }
                defer { state.blocked = [] }
                return (item, false, state.blocked)
            }
            if item != nil || isOver { continuation.resume(returning: item) }
            for worker in blocked { worker.resume() }
        }
    }

    /// The reader goes away: nobody waits for it any more.
    func close() {
        let blocked = state.withLock { state in
            state.isClosed = true
            defer { state.blocked = [] }
            return state.blocked
        }
        for worker in blocked { worker.resume() }
    }
}
