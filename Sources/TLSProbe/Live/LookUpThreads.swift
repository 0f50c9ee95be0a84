// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import NIOCore
import NIOPosix

/// Threads for look-ups, which block for as long as the system's resolver likes and cannot be ended: names whose servers say nothing take half a minute.
///
/// Such names must not hold up others. A look-up that has waited for its turn for a quarter of a second gets one more thread, up to a bound that a fleet of
/// nothing but slow names does not reach; threads beyond the usual number that find nothing to do for a while end.
final class LookUpThreads: @unchecked Sendable {
    struct Limits {
        /// Threads that stay.
        var usual = 32
        /// A check of 64 targets at a time gives each name up after ten seconds, and resolvers hold a thread for up to 40: 256 at once.
        var most = 512
        /// How long a look-up waits before it gets a thread beyond the usual ones.
        var patience = TimeAmount.milliseconds(250)
        /// Seconds after which a thread beyond the usual ones ends if nothing is looked up.
        var linger: TimeInterval = 10
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

    private let limits: Limits
    /// Guards everything below.
    private let condition = NSCondition()
    private var line: CircularBuffer<(job: Job, since: NIODeadline)> = []
    private var threads = 0
    private var resting = 0

    init(_ limits: Limits = Limits()) { self.limits = limits }

    /// Threads that there are now.
    var count: Int { condition.withLock { threads } }

    /// Runs the job as soon as a thread is free; not at all if nobody waits for it by then.
    func submit(_ job: Job) {
        let mustWait = condition.withLock {
            // Those whom nobody waits for stand in the line only while all threads are held.
            if line.count >= LookUpThreads.sweepLimit { line.removeAll { !$0.job.isWanted() } }
            line.append((job, .now()))
            if resting >= line.count {
                condition.signal()
                return false
            }
            guard threads < limits.usual else { return true }
            start()
            return false
        }
        guard mustWait else { return }
        MultiThreadedEventLoopGroup.singleton.next().scheduleTask(in: limits.patience) { self.relieve() }
    }

    /// One more thread if the first in the line has waited for too long.
    private func relieve() {
        condition.withLock {
            while let first = line.first, !first.job.isWanted() { line.removeFirst() }
            guard line.count > resting, let first = line.first, threads < limits.most,
                .now() - first.since >= limits.patience
            else { return }
            start()
        }
    }

    /// Under the lock.
    private func start() {
        threads += 1
        let thread = Thread { self.work() }
        thread.name = "look-up"
        thread.stackSize = LookUpThreads.stackSize
        thread.start()
    }

    private func work() {
        condition.lock()
        while true {
            let end = Date(timeIntervalSinceNow: limits.linger)
            while line.isEmpty {
                resting += 1
                let isInTime = condition.wait(until: end)
                resting -= 1
                guard !isInTime, line.isEmpty else { continue }
                if threads > limits.usual {
                    threads -= 1
                    condition.unlock()
                    return
                }
                // One of the usual threads rests without an end.
                resting += 1
                condition.wait()
                resting -= 1
            }
            let job = line.removeFirst().job
            condition.unlock()
            if job.isWanted() { job.run() }
            condition.lock()
        }
    }

    private static let sweepLimit = 1024
    /// What the C library's resolver and its plug-ins need, with room.
    private static let stackSize = 1 << 20
}
