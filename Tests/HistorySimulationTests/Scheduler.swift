// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TestSupport

/// Decides who goes on, and when it is: one task runs at a time, and a seed chooses which.
///
/// A task runs until it waits for its next turn or ends. Between two turns nothing else runs, so the same seed gives the same order on any
/// number of threads. Time is counted in milliseconds and passes with the turns; where nobody can go on, it jumps to the next timer.
final class Scheduler: Sendable {
    /// More turns were taken than any simulation needs.
    struct Endless: Error {}

    private struct Timer {
        let at: Int64
        let action: @Sendable () async -> Void
    }

    private struct State {
        var random: SplitMix
        var now: Int64 = 0
        var turns = 0
        var waiting: [CheckedContinuation<Void, Never>] = []
        var timers: [Timer] = []
        var isBusy = false
        var driver: CheckedContinuation<Void, Never>?
    }

    private enum Choice {
        case resume(CheckedContinuation<Void, Never>)
        case fire(@Sendable () async -> Void)
        case end
        case endless
    }

    private let state: Mutex<State>
    private static let turnLimit = 20_000

    init(seed: UInt64) { state = Mutex(State(random: SplitMix(state: seed))) }

    /// Milliseconds since the start.
    var now: Int64 { state.withLock { $0.now } }

    /// Waits until it is this task's turn. Only tasks that ``launch(_:)`` started may ask.
    func turn() async {
        await withCheckedContinuation { continuation in
            let driver = state.withLock { state in
                state.waiting.append(continuation)
                return Scheduler.letGo(&state)
            }
            driver?.resume()
        }
    }

    /// Waits for some milliseconds, and then for a turn.
    func sleep(_ milliseconds: Int64) async {
        await withCheckedContinuation { continuation in
            let driver = state.withLock { state in
                Scheduler.add(&state, milliseconds) { await self.alone { continuation.resume() } }
                return Scheduler.letGo(&state)
            }
            driver?.resume()
        }
    }

    /// Does something after some milliseconds, between the turns of others.
    func after(_ milliseconds: Int64, _ action: @escaping @Sendable () async -> Void) {
        state.withLock { Scheduler.add(&$0, milliseconds, action) }
    }

    /// Starts a task: it has the turn at once. Only actions of timers may start one.
    func launch(_ body: @escaping @Sendable () async -> Void) async {
        await alone {
            Task {
                await body()
                let driver = self.state.withLock { Scheduler.letGo(&$0) }
                driver?.resume()
            }
        }
    }

    /// Gives turns until nobody waits and no timer is left.
    func run() async throws(Endless) {
        while true {
            switch state.withLock({ Scheduler.choose(&$0) }) {
            case .resume(let continuation): await alone { continuation.resume() }
            case .fire(let action): await action()
            case .end: return
            case .endless: throw Endless()
            }
        }
    }

    private static func choose(_ state: inout State) -> Choice {
        state.turns += 1
        guard state.turns <= turnLimit else { return .endless }
        var due = state.timers.indices.filter { state.timers[$0].at <= state.now }
        if state.waiting.isEmpty, due.isEmpty {
            guard let next = state.timers.map(\.at).min() else { return .end }
            state.now = next
            due = state.timers.indices.filter { state.timers[$0].at <= state.now }
        } else {
            state.now += Int64(state.random.below(25))
        }
        let pick = state.random.below(state.waiting.count + due.count)
        if pick < state.waiting.count { return .resume(state.waiting.remove(at: pick)) }
        return .fire(state.timers.remove(at: due[pick - state.waiting.count]).action)
    }

    private func alone(_ resume: () -> Void) async {
        state.withLock { $0.isBusy = true }
        resume()
        await withCheckedContinuation { continuation in
            let isOver = state.withLock { state in
                if state.isBusy { state.driver = continuation }
                return !state.isBusy
            }
            if isOver { continuation.resume() }
        }
    }

    private static func letGo(_ state: inout State) -> CheckedContinuation<Void, Never>? {
        state.isBusy = false
        defer { state.driver = nil }
        return state.driver
    }

    private static func add(_ state: inout State, _ milliseconds: Int64, _ action: @escaping @Sendable () async -> Void)
    {
        state.timers.append(Timer(at: state.now + milliseconds, action: action))
    }
}
