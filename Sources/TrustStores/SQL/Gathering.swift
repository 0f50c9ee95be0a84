// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Synchronization

/// Where one thread waits for callers whose work it does together.
///
/// Without a pause callers fall into two halves, each of which waits for the other's flush; or the first who comes back has a flush for
/// itself and all others wait for that. The more are at work, the longer the pause is worth: while signatures are checked, a flush for a
/// few costs the processor what one for many does. One caller alone never waits here.
package final class Gathering: Sendable {
    /// For each so many callers at work the pause lasts, at most, as long as the last batch took.
    private static let callers = 4
    /// And never longer than this, however slow the disk is.
    private static let longest = Duration.milliseconds(4)
    /// If a batch takes less than that, no pause is for more callers than this: what a commit costs the processor is small for each of them then,
    /// and the others have work to do while it is flushed. If all are in one batch, nobody has.
    private static let crowd = 32

    private struct State {
        /// For how many the thread waits just now.
        var wanted: Int?
        var atWork = 0
        var spent = Duration.zero
    }

    private let state = Mutex(State())
    private let enough = DispatchSemaphore(value: 0)

    package init() {}

    /// Notes how many wait now that one more has come.
    package func arrived(_ waiting: Int) {
        let isEnough = state.withLock { state in
            guard let wanted = state.wanted, waiting >= wanted else { return false }
            state.wanted = nil
            return true
        }
        if isEnough { enough.signal() }
    }

    /// Waits until so many wait, as `waiting` counts and ``arrived(_:)`` is told, or until the time is over; nil for no end.
    package func wait(for wanted: Int, atMost limit: Duration? = nil, waiting: () -> Int) {
        let end = limit.map { DispatchTime.now() + .nanoseconds(Int($0 / .nanoseconds(1))) } ?? .distantFuture
        state.withLock { $0.wanted = wanted }
        if waiting() < wanted, enough.wait(timeout: end) == .success { return }
        // The last one who came in time has taken the number away and signals; that signal is not left for a later wait.
        let isComing = state.withLock { state in
            defer { state.wanted = nil }
            return state.wanted == nil
        }
        if isComing { enough.wait() }
    }

    /// Waits a moment until as many callers wait as were at work before, or as many as are enough for a batch.
    package func pause(upTo limit: Int, waiting: () -> Int) {
        let (atWork, spent) = state.withLock { ($0.atWork, $0.spent) }
        guard atWork > 1 else { return }
        let pause = min(spent * atWork / Gathering.callers, Gathering.longest)
        let most = spent < Gathering.longest ? min(limit, Gathering.crowd) : limit
        wait(for: min(atWork, most), atMost: pause, waiting: waiting)
    }

    /// Notes how many callers were in a batch or waited at its end, and how long it took: before anybody is answered, so that nobody
    /// counts twice.
    package func ended(atWork: Int, spent: Duration) {
        state.withLock { ($0.atWork, $0.spent) = (atWork, spent) }
    }
}
