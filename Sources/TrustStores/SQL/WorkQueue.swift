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
    private struct Call: Sendable {
        /// Does the work, and gives what tells the caller the outcome.
        let run: @Sendable (Resource) -> () -> Void
        /// Refuses the caller; false if it was answered before.
        let fail: @Sendable (StoreFault) -> Bool
        let isAnswered: @Sendable () -> Bool
        /// How long the answer may take once a thread has taken the work; nil for the limit of the queue.
        let limit: Duration?
        var until: ContinuousClock.Instant
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
                        return { caller.answer(Result { try outcome() }) }
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
    ///   - resource: gives what the thread works with.
    ///   - together: does the pieces that it is given, and what they have in common; if it throws, none of them counts as done.
    ///   - finally: runs at the end of the thread.
    package func serve(
        upTo count: Int = 1, pause: Duration = .zero, with resource: @escaping @Sendable () throws -> Resource,
        together: @escaping @Sendable (Resource, _ pieces: () -> Void) throws -> Void = { $1() },
        finally: @escaping @Sendable () -> Void
    ) {
        let number = state.withLock { state in
            state.threads += 1
            return state.threads
        }
        SystemThread.start { [self] in
            while let calls = take(upTo: count, number) {
                let start = ContinuousClock.now
                var answers: [() -> Void] = []
                do {
                    let resource = try resource()
                    try together(resource) { answers = calls.filter { !$0.isAnswered() }.map { $0.run(resource) } }
                } catch {
                    let fault = error as? StoreFault ?? .unavailable("\(error)")
                    answers = calls.map { call in { _ = call.fail(fault) } }
                }
                let spent = ContinuousClock.now - start
                state.withLock { state in
                    state.running[number] = nil
                    state.heldSince = nil
                }
                for answer in answers { answer() }
                if calls.count > 1 { SystemThread.sleep(min(spent, pause)) }
            }
            finally()
            state.withLock { $0.threads -= 1 }
        }
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
        let (late, overdue, count) = state.withLock { state in
            state.isGivenUp = state.closing.map { $0 <= now } ?? false
            let isGivenUp = state.isGivenUp
            // All wait equally long, so those who have waited too long are in front.
            let late = isGivenUp ? state.waiting : Array(state.waiting.prefix { $0.until <= now })
            state.waiting.removeFirst(late.count)
            let overdue = state.running.values.joined().filter { isGivenUp || $0.until <= now }
            return (late, overdue, state.waiting.count)
        }
        for call in late where call.fail(.unavailable("\(system) did not accept the request in time")) {
            observe(StoreObservation(.waitedTooLong))
        }
        for call in overdue where call.fail(.unavailable("\(system) has not answered in time")) {
            observe(StoreObservation(.overdue))
        }
        return count
    }

    // MARK: The end

    /// Accepts nothing more, and waits until everything is done, but no longer than the limit.
    package func close(within limit: Duration) async {
        end(within: limit)
        // In a task of its own, because a service whose task is canceled closes its store as well.
        await Task { while !isOver { try? await Task.sleep(for: .milliseconds(2)) } }.value
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
