// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import NIOCore
import NIOPosix
import Synchronization
import Vocabulary

/// Threads for look-ups, which block for as long as the system's resolver likes and cannot be ended: names whose servers say nothing take half a minute.
///
/// Such names must not hold up others. A look-up that has waited for its turn for a quarter of a second gets one more thread, up to a bound that a fleet of
/// nothing but slow names does not reach; threads beyond the usual number that find nothing to do for a while end.
final class LookUpThreads: Sendable {
    struct Limits {
        /// Threads that stay.
        var usual = 32
        /// A check of 64 targets at a time gives each name up after ten seconds, and resolvers hold a thread for up to 40: 256 at once.
        var most = 512
        /// How long a look-up waits before it gets a thread beyond the usual ones.
        var patience = TimeAmount.milliseconds(250)
        /// How long until a thread beyond the usual ones ends if nothing is looked up.
        var linger = TimeAmount.seconds(10)
    }

    struct Job {
        /// Whether anybody waits for it still.
        let isWanted: @Sendable () -> Bool
        let run: @Sendable () -> Void

        init(isWanted: @escaping @Sendable () -> Bool, _ run: @escaping @Sendable () -> Void) {
            self.isWanted = isWanted
            self.run = run
        }
    }

    static let shared = LookUpThreads()

    private struct State {
        var line: CircularBuffer<(job: Job, since: NIODeadline)> = []
        var threads = 0
        var resting = 0
    }

    private let limits: Limits
    private let state = Mutex(State())
    /// Signaled for a resting thread.
    private let arrivals = DispatchSemaphore(value: 0)

    init(_ limits: Limits = Limits()) { self.limits = limits }

    /// Threads that there are now.
    var count: Int { state.withLock { $0.threads } }

    private enum Help { case resting, new, later }

    /// Runs the job as soon as a thread is free; not at all if nobody waits for it by then.
    func submit(_ job: Job) {
        let help = state.withLock { state -> Help in
            // Those whom nobody waits for stand in the line only while all threads are held.
            if state.line.count >= LookUpThreads.sweepLimit { state.line.removeAll { !$0.job.isWanted() } }
            state.line.append((job, .now()))
            if state.resting >= state.line.count { return .resting }
            guard state.threads < limits.usual else { return .later }
            state.threads += 1
            return .new
        }
        switch help {
        case .resting: arrivals.signal()
        case .new: start()
        case .later:
            MultiThreadedEventLoopGroup.singleton.next().scheduleTask(in: limits.patience) { self.relieve() }
        }
    }

    /// One more thread if the first in the line has waited for too long.
    private func relieve() {
        let isLate = state.withLock { state in
            while let first = state.line.first, !first.job.isWanted() { state.line.removeFirst() }
            guard state.line.count > state.resting, let first = state.line.first, state.threads < limits.most,
                .now() - first.since >= limits.patience
            else { return false }
            state.threads += 1
            return true
        }
        if isLate { start() }
    }

    private func start() {
        SystemThread.start(stackSize: LookUpThreads.stackSize) { self.work() }
    }

    private func work() {
        while true {
            let (job, isSpare) = state.withLock { state -> (Job?, Bool) in
                guard state.line.isEmpty else { return (state.line.removeFirst().job, false) }
                state.resting += 1
                return (nil, state.threads > limits.usual)
            }
            if let job {
                if job.isWanted() { job.run() }
                continue
            }
            // One of the usual threads rests without an end.
            let isOver =
                arrivals.wait(timeout: isSpare ? .now() + .nanoseconds(Int(limits.linger.nanoseconds)) : .distantFuture)
                == .timedOut
            let ends = state.withLock { state in
                state.resting -= 1
                guard isOver, state.line.isEmpty, state.threads > limits.usual else { return false }
                state.threads -= 1
                return true
            }
            if ends { return }
        }
    }

    private static let sweepLimit = 1024
    /// What the C library's resolver and its plug-ins need, with room.
    private static let stackSize = 1 << 20
}
