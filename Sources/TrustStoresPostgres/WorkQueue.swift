// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

#if Postgres
    import Foundation
    import Synchronization
    import TrustStores

    /// Work that waits for a thread. Threads wait here; tasks never do.
    ///
    /// The line has a length and a longest wait. Whoever finds it full, or has waited that long, is refused.
    final class WorkQueue<Work: Sendable>: Sendable {
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
        private let available = DispatchSemaphore(value: 0)
        private let limit: Int
        private let longestWait: Duration
        private let refuse: @Sendable (Work, StoreFault) -> Void

        /// - Parameters:
        ///   - limit: how many may wait.
        ///   - longestWait: how long each may wait until a thread takes it.
        ///   - refuse: answers work that no thread will take.
        init(limit: Int, longestWait: Duration, refuse: @escaping @Sendable (Work, StoreFault) -> Void) {
            self.limit = limit
            self.longestWait = longestWait
            self.refuse = refuse
        }

        /// How many wait now.
        var count: Int { state.withLock { $0.waiting.count } }

        /// Adds work; false if the line is full. Work that is not added is refused.
        func add(_ work: Work) -> Bool {
            let refusal = state.withLock { state -> (fault: StoreFault, isFull: Bool)? in
                if state.isClosed { return (.unavailable("the store is closed"), false) }
                if state.waiting.count >= limit {
                    return (.unavailable("too many callers wait for PostgreSQL"), true)
                }
                state.waiting.append(Waiting(work: work, until: .now + longestWait))
                return nil
            }
            guard let refusal else {
                available.signal()
                return true
            }
            refuse(work, refusal.fault)
            return !refusal.isFull
        }

        /// Refuses who has waited too long at `instant`, and gives how many these are. All wait equally long, so they stand in front.
        func refuseOverdue(at instant: ContinuousClock.Instant) -> Int {
            refuse(.unavailable("PostgreSQL has not taken the request in time")) { $0.until <= instant }
        }

        /// Refuses all who wait.
        func refuseAll() { _ = refuse(.unavailable("the store is closing")) { _ in true } }

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

        /// Starts a thread that answers work, up to `count` pieces together, until the queue is closed and empty.
        func serve(
            atOnce count: Int,
            answer: @escaping @Sendable ([Work]) -> Void,
            finally: @escaping @Sendable () -> Void
        ) {
            state.withLock { $0.threads += 1 }
            let thread = Thread { [self] in
                while let work = take(upTo: count) { answer(work) }
                finally()
                let actions = state.withLock { state -> [@Sendable () -> Void] in
                    state.threads -= 1
                    return state.threads == 0 ? state.whenClosed : []
                }
                for action in actions { action() }
            }
            thread.name = "sealward-postgres"
            thread.start()
        }

        /// Accepts nothing more; calls `action` when all accepted work is answered.
        func close(_ action: @escaping @Sendable () -> Void) {
            let isDone = state.withLock { state in
                state.isClosed = true
                state.whenClosed.append(action)
                return state.threads == 0
            }
            if isDone { action() } else { available.signal() }
        }

        private func take(upTo count: Int) -> [Work]? {
            while true {
                available.wait()
                let (work, isClosed) = state.withLock { state in
                    (state.waiting.take(upTo: count).map(\.work), state.isClosed)
                }
                if !work.isEmpty { return work }
                if isClosed {
                    // The next thread is to see it too.
                    available.signal()
                    return nil
                }
                // A signal whose work another thread took along with its own, or whose work was refused.
            }
        }
    }
#endif
