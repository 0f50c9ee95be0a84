// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import NIOCore
import Synchronization
import Vocabulary

/// Threads for look-ups, which block for as long as the system's resolver likes and cannot be ended: names whose servers say nothing take half a minute.
///
/// Such names must not hold up others: each look-up gets a thread of its own, up to a bound that a fleet of nothing but slow names does not
/// reach. Beyond it look-ups wait for a thread.
final class LookUpThreads: Sendable {
    struct Job {
        /// When nobody waits for it any more.
        let end: NIODeadline
        let run: @Sendable () -> Void
    }

    static let shared = LookUpThreads()

    private struct State {
        /// Look-ups without a thread: only while all threads are held.
        var line: CircularBuffer<Job> = []
        var threads = 0
    }

    private let most: Int
    private let state = Mutex(State())

    /// - Parameter most: a check of 64 targets at a time gives each name up after ten seconds, and resolvers hold a thread for up to 40: 256 at
    ///   once.
    init(most: Int = 512) { self.most = most }

    /// Threads that there are now.
    var count: Int { state.withLock { $0.threads } }

    /// Runs the job as soon as there is a thread; not at all if nobody waits for it by then.
    func submit(_ job: Job) {
        let isFirst = state.withLock { state in
            if state.threads < most {
                state.threads += 1
                return true
            }
            if state.line.count >= LookUpThreads.sweepLimit { state.line.removeAll { $0.end <= .now() } }
            state.line.append(job)
            return false
        }
        if isFirst { SystemThread.start(stackSize: LookUpThreads.stackSize) { self.work(job) } }
    }

    private func work(_ first: Job) {
        var next: Job? = first
        while let job = next {
            if job.end > .now() { job.run() }
            next = state.withLock { state in
                let next = state.line.popFirst()
                if next == nil { state.threads -= 1 }
                return next
            }
        }
    }

    private static let sweepLimit = 1024
    /// What the C library's resolver and its plug-ins need, with room.
    private static let stackSize = 1 << 20
}
