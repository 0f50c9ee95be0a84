// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import FoundationEssentials
import Synchronization
import Vocabulary

/// Callers who wait for threads, because databases block and tasks must not.
///
/// Every wait ends: the line has a bound, and a clock refuses who has waited too long, for a thread or for the answer. What a thread does for a
/// caller who was refused goes on, and whether it takes effect is not known.
package final class WorkQueue<Resource>: Sendable {
    /// One caller, who is answered once: by the thread that did the work, or by the clock.
    package struct Call: Sendable {
        /// Does the work, and gives what answers the caller: that it is done, or the fault because of which it is not.
        package let run: @Sendable (Resource) -> @Sendable (StoreFault?) -> Void
        /// Refuses the caller; false if it was answered before.
        package let fail: @Sendable (StoreFault) -> Bool
        package let isAnswered: @Sendable () -> Bool
        /// How long the answer may take once a thread has taken the work; nil for the limit of the queue.
        fileprivate let limit: Duration?
        fileprivate var until: ContinuousClock.Instant
    }

    private struct State {
        var waiting: [Call] = []
        /// What each busy thread works on.
        var running: [Int: [Call]] = [:]
        var threads = 0
        /// Since when every thread is busy and none has ended anything; nil if one is free.
        var heldSince: ContinuousClock.Instant?
        var closing: ContinuousClock.Instant?
        var isGivenUp = false
        var whenClosed: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())
    private let arrivals = DispatchSemaphore(value: 0)
    private let system: String
    private let limit: Int
    private let longestWait: Duration
    private let longestRun: Duration?
    private let observe: @Sendable (StoreObservation) -> Void

    /// - Parameters:
    ///   - system: what callers wait for, as a sentence calls it.
    ///   - limit: how many may wait.
    ///   - longestWait: how long each may wait for a thread.
    ///   - longestRun: how long each may wait for the answer after that; nil if `longestWait` is for both together.
    package init(
        of system: String, limit: Int, longestWait: Duration, longestRun: Duration? = nil,
        observe: @escaping @Sendable (StoreObservation) -> Void
    ) {
        (self.system, self.limit, self.longestWait, self.longestRun) = (system, limit, longestWait, longestRun)
        self.observe = observe
    }

    /// Has a thread do the work, and waits for the answer.
    ///
    /// - Throws: what the work throws; ``StoreFault`` for a caller who is refused.
    package func call<Outcome: Sendable>(
        within limit: Duration? = nil, _ work: @escaping @Sendable (Resource) throws -> Outcome
    ) async throws -> Outcome {
        try await join(within: limit) { resource in
            let result = Result { try work(resource) }
            return { try result.get() }
        }
    }

    /// The same for work that is done together with that of others.
    ///
    /// - Parameter work: gives what reads the outcome when all is done.
    package func join<Outcome: Sendable>(
        within limit: Duration? = nil, _ work: @escaping @Sendable (Resource) -> @Sendable () throws -> Outcome
    ) async throws -> Outcome {
        try await withCheckedThrowingContinuation { continuation in
            let caller = WaitingCaller(continuation)
            add(
                Call(
                    run: { resource in
                        let outcome = work(resource)
                        return { fault in caller.answer(fault.map { .failure($0) } ?? Result { try outcome() }) }
                    }, fail: { caller.answer(.failure($0)) }, isAnswered: { caller.isAnswered }, limit: limit,
                    until: .now + longestWait))
        }
    }

    private func add(_ call: Call) {
        var isFull = false
        let refusal = state.withLock { state -> String? in
            if state.closing != nil { return "the store is closed" }
            if let since = state.heldSince, .now - since >= longestRun ?? longestWait {
                return "\(system) does not answer"
            }
            isFull = state.waiting.count >= limit
            if isFull { return "too many callers wait for \(system)" }
            state.waiting.append(call)
            return nil
        }
        guard let refusal else {
            arrivals.signal()
            return
        }
        if isFull { observe(StoreObservation(.lineFull)) }
        _ = call.fail(.unavailable(refusal))
    }

    // MARK: Threads

    /// Starts a thread that does work, up to `count` pieces together, until the queue is closed and empty.
    ///
    /// - Parameters:
    ///   - pause: after work for several callers the thread waits as long as that took, but no longer than this, for them to come again: a
    ///     commit for many costs the processor what one for few does. One caller alone never waits.
    ///   - work: does it, and gives what answers the callers.
    ///   - finally: runs at the end of the thread.
    package func serve(
        upTo count: Int = 1, pause: Duration = .zero, _ work: @escaping @Sendable ([Call]) -> () -> Void,
        finally: @escaping @Sendable () -> Void
    ) {
        let number = state.withLock { state in
            state.threads += 1
            return state.threads
        }
        SystemThread.start { [self] in
            while let calls = take(upTo: count, number) {
                let start = ContinuousClock.now
                let answer = work(calls)
                let spent = ContinuousClock.now - start
                state.withLock { state in
                    state.running[number] = nil
                    state.heldSince = nil
                }
                answer()
                if calls.count > 1 { SystemThread.sleep(min(spent, pause)) }
            }
            finally()
            let waiting = state.withLock { state in
                state.threads -= 1
                defer { if state.threads == 0 { state.whenClosed = [] } }
                return state.threads == 0 ? state.whenClosed : []
            }
            for continuation in waiting { continuation.resume() }
        }
    }

    /// Starts a thread that does one piece of work after another, and answers up to `count` callers together.
    ///
    /// - Parameters:
    ///   - resource: gives what the thread works with; whose work finds none is told why.
    ///   - finally: runs at the end of the thread.
    package func serve(
        upTo count: Int = 1, with resource: @escaping @Sendable () throws(StoreFault) -> Resource,
        finally: @escaping @Sendable () -> Void
    ) {
        serve(
            upTo: count,
            { calls in
                let answers = calls.filter { !$0.isAnswered() }.map { call -> () -> Void in
                    do throws(StoreFault) {
                        let answer = call.run(try resource())
                        return { answer(nil) }
                    } catch {
                        return { _ = call.fail(error) }
                    }
                }
                return { for answer in answers { answer() } }
            }, finally: finally)
    }

    private func take(upTo count: Int, _ number: Int) -> [Call]? {
        while true {
            let (calls, isClosed) = state.withLock { state -> ([Call], Bool) in
                var calls = Array(state.waiting.prefix(count))
                state.waiting.removeFirst(calls.count)
                if calls.isEmpty { return ([], state.closing != nil) }
                for index in calls.indices {
                    if let limit = calls[index].limit ?? longestRun { calls[index].until = .now + limit }
                }
                state.running[number] = calls
                if state.running.count == state.threads { state.heldSince = .now }
                return (calls, false)
            }
            if !calls.isEmpty { return calls }
            if isClosed { return nil }
            arrivals.wait()
        }
    }

    // MARK: The clock

    /// Starts the thread that refuses who has waited too long in any of the queues; it ends with them.
    package static func watch(_ queues: [WorkQueue], every pause: Duration) {
        let observe = queues.first?.observe
        SystemThread.start {
            var shown = 0
            while queues.contains(where: { !$0.isOver }) {
                let waiting = queues.reduce(0) { $0 + $1.refuseOverdue(at: .now) }
                if waiting != shown { observe?(StoreObservation(.waiting, value: waiting)) }
                shown = waiting
                SystemThread.sleep(pause)
            }
        }
    }

    /// Whether nobody waits any more, nor will.
    private var isOver: Bool { state.withLock { $0.closing != nil && ($0.isGivenUp || $0.threads == 0) } }

    /// - Returns: how many wait on.
    private func refuseOverdue(at now: ContinuousClock.Instant) -> Int {
        let (late, overdue, hopeless, count) = state.withLock { state in
            state.isGivenUp = state.closing.map { $0 <= now } ?? false
            let isGivenUp = state.isGivenUp
            // All wait equally long, so those who have waited too long are in front.
            let late = isGivenUp ? state.waiting : Array(state.waiting.prefix { $0.until <= now })
            state.waiting.removeFirst(late.count)
            let overdue = state.running.values.joined().filter { isGivenUp || $0.until <= now }
            defer { if isGivenUp { state.whenClosed = [] } }
            return (late, overdue, isGivenUp ? state.whenClosed : [], state.waiting.count)
        }
        for call in late where call.fail(.unavailable("\(system) did not accept the request in time")) {
            observe(StoreObservation(.waitedTooLong))
        }
        for call in overdue where call.fail(.unavailable("\(system) has not answered in time")) {
            observe(StoreObservation(.overdue))
        }
        for continuation in hopeless { continuation.resume() }
        return count
    }

    // MARK: The end

    /// Accepts nothing more, and waits until everything is done, but no longer than the limit.
    package func close(within limit: Duration) async {
        end(within: limit)
        await withCheckedContinuation { continuation in
            let isOver = state.withLock { state in
                let isOver = state.isGivenUp || state.threads == 0
                if !isOver { state.whenClosed.append(continuation) }
                return isOver
            }
            if isOver { continuation.resume() }
        }
    }

    /// Accepts nothing more; the threads end when everything is done.
    package func end(within limit: Duration) {
        let threads = state.withLock { state in
            if state.closing == nil { state.closing = .now + limit }
            return state.threads
        }
        for _ in 0..<threads { arrivals.signal() }
    }
}

/// A caller until it is answered.
private final class WaitingCaller<Outcome: Sendable>: Sendable {
    private let continuation: Mutex<CheckedContinuation<Outcome, any Error>?>

    init(_ continuation: CheckedContinuation<Outcome, any Error>) { self.continuation = Mutex(continuation) }

    var isAnswered: Bool { continuation.withLock { $0 == nil } }

    /// Answers the caller; false if it has been answered already.
    @discardableResult func answer(_ result: Result<Outcome, any Error>) -> Bool {
        let continuation = continuation.withLock { continuation in
            defer { continuation = nil }
            return continuation
        }
        continuation?.resume(with: result)
        return continuation != nil
    }
}
