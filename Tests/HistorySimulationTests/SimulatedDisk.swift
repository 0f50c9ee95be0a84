// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import Foundation
import Synchronization

@testable import TrustStores

/// A fault of the store or the service, put in on purpose: what the checker must find.
enum PlantedBug: String, CaseIterable, Sendable {
    /// A verb looks at the store, and writes what it concluded later, whatever happened meanwhile.
    case readThenAct
    /// A statement whose answer was lost is sent once more, and takes effect twice.
    case doubleCommit
    /// A node believes what it read of a key for ten seconds.
    case lateRevocation
    /// What was spent is acknowledged before it is on the disk.
    case lostSpend
    /// A sweep forgets how far it swept.
    case horizon
}

/// The database: a store in memory, whose state is what is on the disk.
final class SimulatedDisk: Sendable {
    let store: InMemoryTrustStore
    private let scheduler: Scheduler
    private let planted: PlantedBug?
    private let memory: Mutex<Memory>

    /// What the planted bugs remember.
    private struct Memory {
        var seen: (at: Int64, state: MemoryState)?
        var onDisk: [[UInt8]: Int64] = [:]
        var commits = 0
    }

    init(scheduler: Scheduler, hasServerClock: Bool, planted: PlantedBug?) {
        self.scheduler = scheduler
        self.planted = planted
        let server: @Sendable () -> Date = { Date(milliseconds: Scenery.start + scheduler.now) }
        store = InMemoryTrustStore(
            clock: StoreClock(uptime: { .milliseconds(scheduler.now) }, server: hasServerClock ? server : nil))
        memory = Mutex(Memory())
    }

    /// Stores a key that was attested before the start.
    func adopt(_ registration: KeyRegistration, _ number: Int) async throws {
        let start = Date(milliseconds: Scenery.start)
        let challenge = SpendableChallenge(
            id: Array(repeating: UInt8(number), count: 16), expiresAt: start.addingTimeInterval(300))
        _ = try await store.insert(registration, spending: challenge, at: start)
    }

    /// The database stops and starts again: what was committed is there.
    func restart() {
        guard planted == .lostSpend else { return }
        let onDisk = memory.withLock { $0.onDisk }
        change { $0.spent = onDisk }
    }

    /// One verb, from the request's arrival to its commit.
    func run<Result: Sendable>(
        _ verb: String, isLost: Bool, _ body: @escaping @Sendable () async throws -> Result
    ) async throws -> Result {
        switch planted {
        case .readThenAct where ["advance", "consume", "draw"].contains(verb): return try await splitInTwo(body)
        case .doubleCommit where isLost:
            _ = try await body()
            return try await body()
        case .lateRevocation where verb == "key": return try await fromMemory(body)
        default: break
        }
        let result = try await body()
        if planted == .horizon, verb == "sweep" { change { $0.sweptUntil = 0 } }
        if planted == .lostSpend { checkpoint() }
        return result
    }

    // MARK: Planted bugs

    private func change(_ body: (inout MemoryState) -> Void) {
        _ = try? store.locked { state in
            var copy = state
            body(&copy)
            state = copy
        }
    }

    private var state: MemoryState? { try? store.locked { $0 } }

    /// What is on the disk is brought up to date at every fourth commit.
    private func checkpoint() {
        guard let state else { return }
        memory.withLock { memory in
            memory.commits += 1
            if memory.commits % 4 == 0 { memory.onDisk = state.spent }
        }
    }

    private func splitInTwo<Result>(_ body: () async throws -> Result) async throws -> Result {
        guard let before = state else { return try await body() }
        await scheduler.turn()
        guard let now = state else { return try await body() }
        change { $0 = before }
        let result = try await body()
        guard let after = state else { return result }
        change { state in
            state = now
            state.spent.merge(after.spent.filter { before.spent[$0.key] == nil }) { $1 }
            for (id, entry) in after.keys where before.keys[id]?.window != entry.window { state.keys[id] = entry }
            for (name, window) in after.quotas where before.quotas[name]?.used != window.used {
                state.quotas[name] = window
            }
        }
        return result
    }

    private func fromMemory<Result>(_ body: () async throws -> Result) async throws -> Result {
        guard let now = state else { return try await body() }
        let time = scheduler.now
        let seen = memory.withLock { memory in
            if let seen = memory.seen, time - seen.at < 10_000 { return seen.state }
            memory.seen = (time, now)
            return now
        }
        change { $0 = seen }
        defer { change { $0 = now } }
        return try await body()
    }
}
