// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization

/// Work that waits for a thread. Threads wait here; tasks never do.
///
/// The line has a length and a longest wait. Whoever finds it full, or has waited that long, is refused.
package final class WorkQueue<Work: Sendable>: Sendable {
    private struct Waiting {
        let work: Work
        let until: ContinuousClock.Instant
    }

    private struct State {
        var waiting = WaitingLine<Waiting>()
        var threads = 0
        var isClosed = false
        var whenClosed: [@Sendable () -> Void] = []
    }

    private let state = Mutex(State())
    /// One thread at a time waits here for work; the others wait for their turn.
    private let gathering = Gathering()
    private let turn = Mutex(())
    private let limit: Int
    private let longestWait: Duration
    private let system: String
    private let refuse: @Sendable (Work, StoreFault) -> Void

    /// - Parameters:
    ///   - system: what everybody waits for, as it is called in a sentence.
    ///   - limit: how many may wait.
    ///   - longestWait: how long each may wait until a thread takes it.
    ///   - refuse: answers work that no thread will take.
    package init(
        of system: String, limit: Int, longestWait: Duration, refuse: @escaping @Sendable (Work, StoreFault) -> Void
    ) {
        self.system = system
        self.limit = limit
        self.longestWait = longestWait
        self.refuse = refuse
    }

    /// How many wait now.
    package var count: Int { state.withLock { $0.waiting.count } }

    /// Adds work; false if the line is full. Work that is not added is refused.
    package func add(_ work: Work) -> Bool {
        let (waiting, refusal) = state.withLock { state -> (Int, (fault: StoreFault, isFull: Bool)?) in
            if state.isClosed { return (0, (.unavailable("the store is closed"), false)) }
            if state.waiting.count >= limit {
                return (0, (.unavailable("too many callers wait for \(system)"), true))
            }
            state.waiting.append(Waiting(work: work, until: .now + longestWait))
            return (state.waiting.count, nil)
        }
        guard let refusal else {
            gathering.arrived(waiting)
            return true
        }
        refuse(work, refusal.fault)
        return !refusal.isFull
    }

    /// Refuses who has waited too long at `instant`, and gives how many these are. All wait equally long, so they stand in front.
    package func refuseOverdue(at instant: ContinuousClock.Instant) -> Int {
        refuse(.unavailable("\(system) did not accept the request in time")) { $0.until <= instant }
    }

    /// Refuses all who wait.
    package func refuseAll() { _ = refuse(.unavailable("the store is closing")) { _ in true } }

    private func refuse(_ fault: StoreFault, where isRefused: (Waiting) -> Bool) -> Int {
        let refused = state.withLock { state in
            var refused: [Work] = []
            while let first = state.waiting.first, isRefused(first) {
                refused += state.waiting.take(upTo: 1).map(\.work)
            }
            return refused
        }
        for work in refused { refuse(work, fault) }
        return refused.count
    }

    /// Starts a thread that does work, up to `count` pieces together, until the queue is closed and empty.
    ///
    /// - Parameters:
    ///   - gathers: whether it waits a moment for more of it.
    ///   - work: does it, and gives what answers those who wait for it.
    package func serve(
        atOnce count: Int, gathers: Bool = false, work: @escaping @Sendable ([Work]) -> () -> Void,
        finally: @escaping @Sendable () -> Void
    ) {
        state.withLock { $0.threads += 1 }
        let thread = Thread { [self] in
            while let pieces = take(upTo: count, gathers: gathers) {
                let start = ContinuousClock.now
                let answer = work(pieces)
                gathering.ended(atWork: pieces.count + self.count, spent: .now - start)
                answer()
            }
            finally()
            let actions = state.withLock { state -> [@Sendable () -> Void] in
                state.threads -= 1
                return state.threads == 0 ? state.whenClosed : []
            }
            for action in actions { action() }
        }
        thread.name = "sealward-store"
        thread.start()
    }

    /// Accepts nothing more; calls `action` when all accepted work is answered.
    package func close(_ action: @escaping @Sendable () -> Void) {
        let isDone = state.withLock { state in
            state.isClosed = true
            state.whenClosed.append(action)
            return state.threads == 0
        }
        if isDone { action() } else { gathering.arrived(.max) }
    }

    private func take(upTo limit: Int, gathers: Bool) -> [Work]? {
        turn.withLock { _ in
            while true {
                if gathers { gathering.pause(upTo: limit) { isClosed ? limit : self.count } }
                if self.count == 0 {
                    gathering.ended(atWork: 0, spent: .zero)
                    gathering.wait(for: 1) { isClosed ? 1 : self.count }
                }
                let work = state.withLock { $0.waiting.take(upTo: limit).map(\.work) }
                if !work.isEmpty { return work }
                if isClosed { return nil }
                // What waited was refused.
            }
        }
    }

    private var isClosed: Bool { state.withLock { $0.isClosed } }
}
