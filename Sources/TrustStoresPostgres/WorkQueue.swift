// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

#if Postgres
    import Foundation
    import Synchronization
    import TrustStores

    /// Work that waits for a thread. Threads wait here; tasks never do.
    final class WorkQueue<Work: Sendable>: Sendable {
        private struct State {
            var waiting: [Work] = []
            var threads = 0
            var isClosed = false
            var whenClosed: [@Sendable () -> Void] = []
        }

        private let state = Mutex(State())
        private let available = DispatchSemaphore(value: 0)
        private let limit: Int

        init(limit: Int) { self.limit = limit }

        /// Adds work, or says why not.
        func add(_ work: Work) -> StoreFault? {
            let refusal = state.withLock { state -> StoreFault? in
                if state.isClosed { return .unavailable("the store is closed") }
                if state.waiting.count >= limit { return .unavailable("too many callers wait for PostgreSQL") }
                state.waiting.append(work)
                return nil
            }
            if refusal == nil { available.signal() }
            return refusal
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
                    let work = Array(state.waiting.prefix(count))
                    state.waiting.removeFirst(work.count)
                    return (work, state.isClosed)
                }
                if !work.isEmpty { return work }
                if isClosed {
                    // The next thread is to see it too.
                    available.signal()
                    return nil
                }
                // A signal whose work another thread took along with its own.
            }
        }
    }
#endif
