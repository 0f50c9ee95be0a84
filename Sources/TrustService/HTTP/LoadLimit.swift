// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import NIOCore
import Synchronization

/// Decides how many requests of each operation are in flight at a time, from how long those take that are accepted.
///
/// A node that takes every request answers each of them later and later once more come than it can handle. So each operation has a limit on
/// what is in flight, which counts only when it has been exceeded for ``LoadSettings/grace``: a short burst waits, a load that stays is refused. How
/// many a node can have in flight depends on the machine and the store, so it is measured and not configured. With ``LoadSettings/floor`` in flight
/// an accepted request takes its usual time; while requests are refused, the limit follows what keeps that within ``LoadSettings/target`` times the usual.
///
/// Operations are apart: one whose part of the store hangs takes nothing from the others. Their usual times are measured at the same moment, so
/// that none is measured while another one uses the whole machine.
final class LoadLimit: Sendable {
    /// What changed, for the log and the metrics.
    struct Change: Sendable, Equatable {
        let operation: String
        /// Whether requests of the operation are being refused.
        let isRefusing: Bool
        let limit: Int
    }

    private let settings: LoadSettings
    private let lanes: Mutex<[Lane]>
    private let onChange: @Sendable (Change) -> Void

    /// - Parameters:
    ///   - operations: the names of the operations; their indices are what the other calls name.
    ///   - onChange: is told when refusing begins and ends, and of each new limit meanwhile; must be quick.
    init(
        operations: [String], settings: LoadSettings = LoadSettings(),
        onChange: @escaping @Sendable (Change) -> Void = { _ in }
    ) {
        self.settings = settings
        self.onChange = onChange
        lanes = Mutex(operations.map { Lane(operation: $0, limit: settings.start) })
    }

    /// The number of requests in flight, and the limit on it, of each operation.
    var counts: [(operation: String, inFlight: Int, limit: Int)] {
        lanes.withLock { $0.map { ($0.operation, $0.inFlight, $0.limit) } }
    }

    /// Whether a request may come in now. One that may counts from ``begin(_:)`` on.
    func admits(_ index: Int, at now: NIODeadline) -> Bool {
        let (isAdmitted, change) = lanes.withLock { lanes in
            update(index, in: &lanes, at: now) { $0.admits(at: now, settings) }
        }
        if let change { onChange(change) }
        return isAdmitted
    }

    /// Counts a request that has come in whole.
    func begin(_ index: Int) { lanes.withLock { $0[index].inFlight += 1 } }

    /// Ends a request that ``begin(_:)`` counted.
    ///
    /// - Parameters:
    ///   - start: when it began.
    ///   - isAccepted: whether it was answered with what was asked for: the time of nothing else says how long that takes.
    func end(_ index: Int, from start: NIODeadline, isAccepted: Bool, at now: NIODeadline) {
        let (_, change) = lanes.withLock { lanes in
            update(index, in: &lanes, at: now) { $0.end(from: start, isAccepted: isAccepted, at: now, settings) }
        }
        if let change { onChange(change) }
    }

    /// How long a request of an operation takes at most that is neither refused nor held up.
    func expectation(_ index: Int) -> TimeAmount {
        lanes.withLock { $0[index].expectation(settings) }
    }

    /// Does something to one lane. If its usual time is due, all lanes in which requests are refused measure it.
    private func update<Result>(
        _ index: Int, in lanes: inout [Lane], at now: NIODeadline, _ body: (inout Lane) -> Result
    ) -> (Result, Change?) {
        let (wasRefusing, limit) = (lanes[index].isRefusing, lanes[index].limit)
        let result = body(&lanes[index])
        let lane = lanes[index]
        if lane.mustMeasure(at: now, settings) {
            for other in lanes.indices { lanes[other].measure(from: now) }
        }
        if lane.isRefusing == wasRefusing, lane.limit == limit { return (result, nil) }
        return (result, Change(operation: lane.operation, isRefusing: lane.isRefusing, limit: lane.limit))
    }
}

/// One operation of a ``LoadLimit``.
private struct Lane {
    let operation: String
    var inFlight = 0
    var limit: Int
    /// Since when the limit was exceeded; nil if it is not, or if requests are refused.
    private var exceededSince: NIODeadline?
    private(set) var isRefusing = false
    private var refusingSince = NIODeadline.distantPast
    private var lastRefusal = NIODeadline.distantPast
    /// How many requests were taken, and how many were not, since then.
    private var (admitted, refused) = (0, 0)
    private var periodStart = NIODeadline.distantPast
    /// The most that were taken in one period; less with each in which requests are refused.
    private var most = 0
    /// The median with ``LoadSettings/floor`` in flight, in nanoseconds, and when it was measured.
    private var usual: Int64?
    private var measuredAt = NIODeadline.distantPast
    /// Since when only ``LoadSettings/floor`` are taken, to measure the usual time.
    private var measuringSince: NIODeadline?
    /// Since when as many are taken as at the start, to see whether the node can handle what comes now.
    private var tryingSince: NIODeadline?
    /// When the last such trial failed, and how long after it the next one begins; nil before the first.
    private var failedAt = NIODeadline.distantPast
    private var trialPause: TimeAmount?
    /// What accepted requests took since `windowStart`, in nanoseconds.
    private var taken: [Int64] = []
    private var windowStart = NIODeadline.distantPast

    /// The most times that one window keeps.
    private static let takenLimit = 256

    init(operation: String, limit: Int) { (self.operation, self.limit) = (operation, limit) }

    mutating func admits(at now: NIODeadline, _ settings: LoadSettings) -> Bool {
        endPeriod(at: now, settings)
        var bound = tryingSince == nil ? limit : max(limit, settings.start)
        if measuringSince != nil { bound = settings.floor }
        if inFlight < bound {
            exceededSince = nil
            admitted += 1
            return true
        }
        if !isRefusing {
            let since = exceededSince ?? now
            exceededSince = since
            if now < since + settings.grace, inFlight < max(settings.start, bound * settings.burst) {
                admitted += 1
                return true
            }
            (exceededSince, isRefusing) = (nil, true)
            openWindow(at: now)
            (refusingSince, periodStart, admitted, refused) = (now, now, 0, 0)
        }
        if tryingSince != nil {
            (tryingSince, failedAt) = (nil, now)
            trialPause = min(settings.trialMost, pause(settings) + pause(settings))
            openWindow(at: now)
        }
        lastRefusal = now
        refused += 1
        return false
    }

    /// Looks once in a while at how many requests came, and how many of them were taken.
    private mutating func endPeriod(at now: NIODeadline, _ settings: LoadSettings) {
        guard now > periodStart + settings.rest else { return }
        // After a pause the counts are those of another time.
        let isFresh = now < periodStart + settings.rest + settings.rest
        let (came, taken) = isFresh ? (admitted + refused, admitted) : (0, 0)
        (periodStart, admitted, refused) = (now, 0, 0)
        guard isRefusing else {
            most = max(taken, most)
            return
        }
        let hasRoom = Double(came) < Double(most) * settings.share
        // A node that has become slower must not believe for long what it could do.
        most = max(taken, Int(Double(most) * settings.share))
        guard hasRoom || now > lastRefusal + settings.rest || Double(came - taken) < Double(taken) * settings.remainder
        else {
            // Requests of a load that the node handles may take longer than the target allows, and be refused for as long as it lasts.
            if measuringSince == nil, now > max(refusingSince, failedAt) + pause(settings) { tryingSince = now }
            return
        }
        // It handled more than what comes now, or has just done so: the limit is too low for that.
        if hasRoom || tryingSince != nil { limit = max(limit, settings.start) }
        (isRefusing, measuringSince, tryingSince, trialPause) = (false, nil, nil, nil)
    }

    /// How long requests are refused before more are taken for a trial.
    private func pause(_ settings: LoadSettings) -> TimeAmount { trialPause ?? settings.trial }

    mutating func end(from start: NIODeadline, isAccepted: Bool, at now: NIODeadline, _ settings: LoadSettings) {
        inFlight = max(0, inFlight - 1)
        // What began before the measurement, or in a trial, waited behind more than the limit.
        guard isAccepted, isRefusing, tryingSince == nil, start >= max(measuringSince ?? .distantPast, failedAt)
        else { return }
        if taken.count < Lane.takenLimit { taken.append((now - start).nanoseconds) }
        guard now >= windowStart + settings.window, taken.count >= settings.samples else { return }
        let sorted = taken.sorted()
        closeWindow(median: max(1, sorted[sorted.count / 2]), at: now, settings)
        openWindow(at: now)
    }

    private mutating func openWindow(at now: NIODeadline) {
        taken.removeAll(keepingCapacity: true)
        windowStart = now
    }

    /// Moves the limit.
    private mutating func closeWindow(median: Int64, at now: NIODeadline, _ settings: LoadSettings) {
        guard measuringSince == nil, let usual else {
            // Even if more in flight mean no more answers a second, each of so many takes no longer than the target.
            if self.usual == nil { limit = Int((Double(settings.floor) * settings.target).rounded()) }
            (self.usual, measuredAt, measuringSince) = (median, now, nil)
            return
        }
        let excess = Double(median) / (Double(usual) * settings.target)
        // With more in flight no request is faster: the usual time was measured while something held up the node.
        if median < usual { self.usual = median }
        // With so few in flight, what takes longer is the usual time by now.
        if excess > 1, limit <= settings.floor { (self.usual, measuredAt) = (median, now) }
        let wanted = Double(limit) * min(1.5, max(0.5, 1 / excess))
        limit = min(settings.most, max(settings.floor, Int(wanted.rounded())))
    }

    /// Whether requests are refused without knowing the usual time.
    func mustMeasure(at now: NIODeadline, _ settings: LoadSettings) -> Bool {
        guard isRefusing, measuringSince == nil, tryingSince == nil else { return false }
        // The beginning is no usual moment: many connections are new.
        let age = max(settings.rest, min(settings.validity, measuredAt - refusingSince))
        return usual == nil || now > measuredAt + age
    }

    mutating func measure(from now: NIODeadline) {
        guard isRefusing else { return }
        (measuringSince, tryingSince) = (now, nil)
        openWindow(at: now)
    }

    func expectation(_ settings: LoadSettings) -> TimeAmount {
        .nanoseconds(Int64(min(Double(usual ?? 33_000_000) * settings.target, 1e10)))
    }
}

/// The constants of the rule, for tests to shorten.
package struct LoadSettings: Sendable {
    /// So many in flight are never too many.
    package var floor = 4
    /// What an operation starts with.
    package var start = 256
    /// No limit is higher.
    package var most = 16_384
    /// How many times its usual time an accepted request may take.
    package var target = 2.0
    /// How long more than the limit may be in flight before anything is refused.
    package var grace = TimeAmount.milliseconds(100)
    /// Meanwhile no more than so many times the limit, or than ``start`` if that is more.
    package var burst = 4
    /// If for so long no more than such a part of the requests was refused, bursts may wait again.
    package var rest = TimeAmount.seconds(1)
    package var remainder = 0.1
    /// Requests are no longer refused either if fewer come than such a part of what was taken before.
    package var share = 0.9
    /// How long requests are refused until as many as at the start are taken for a trial; twice as long after each trial that failed.
    package var trial = TimeAmount.seconds(5)
    package var trialMost = TimeAmount.seconds(60)
    /// Between two changes of the limit, and at least so many accepted requests.
    package var window = TimeAmount.milliseconds(100)
    package var samples = 16
    /// How long the usual time is believed.
    package var validity = TimeAmount.seconds(10)

    package init() {}
}
