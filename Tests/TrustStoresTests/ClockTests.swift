// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import Foundation
import TestSupport
import Testing
import TrustStoreContract

@testable import TrustStores

/// What only a database can show.
@Suite struct ClockRepairTests {
    @Test("a horizon that an older version moved is found and repaired", arguments: StoreBackend.persistent)
    func repair(_ backend: StoreBackend) async throws {
        let fixture = try await backend.make()
        let store = try #require(fixture.store as? SQLTrustStore)
        let moved = StoreTime.milliseconds(Sample.now + 30 * 86_400)
        try await store.engine.transact { session in
            try session.run("UPDATE store_clock SET swept_until = $1", .integer(moved))
            return .commit(())
        }
        #expect(try await store.spend(Sample.challenge(), at: Sample.now) == .expired)
        let inspection = try await store.inspect(at: Sample.now)
        #expect(inspection.clockFault == .horizonAhead(.seconds(30 * 86_400)))
        #expect(inspection.schema == 6 && inspection.expectedSchema == 6 && inspection.problems.isEmpty)
        #expect(try await store.sweep(at: Sample.now, keeping: Retention()).clockFault != nil)
        #expect(try await store.check().horizonLead(at: Sample.now) == .seconds(30 * 86_400))
        #expect(try await store.settleClock(at: Sample.now).sweptUntil == Sample.now)
        #expect(try await store.spend(Sample.challenge(), at: Sample.now) == .spent)
        // What expired before the repair stays refused.
        let old = Sample.challenge(until: Sample.now)
        #expect(try await store.spend(old, at: Sample.now - 60) == .expired)
        #expect(try await store.inspect(at: Sample.now).clockFault == nil)
    }
}

/// Where the database has no clock: SQLite and memory.
@Suite struct ClockWitnessTests {
    static let hour: Int64 = 3_600_000

    private func jump(_ limit: SweepLimit) -> Bool { if case .refused(.jump) = limit { true } else { false } }

    @Test("the clock may go on as far as time has passed, and an hour further, and no further by small steps")
    func steps() {
        var witness = ClockWitness(opened: .zero)
        let start = 1000 * Self.hour
        func limit(_ claimed: Int64, after passed: Duration) -> SweepLimit {
            witness.limit(claimed: claimed, sweptUntil: start - Self.hour, server: nil, oldest: nil, uptime: passed)
        }
        #expect(limit(start, after: .zero) == .upTo(now: start, horizon: start - Self.hour))
        #expect(limit(start + Self.hour, after: .zero) == .upTo(now: start + Self.hour, horizon: start))
        #expect(jump(limit(start + Self.hour + 1, after: .zero)))
        #expect(!jump(limit(start + 50 * Self.hour, after: .seconds(49 * 3600))))
        #expect(jump(limit(start + 50 * Self.hour + 1, after: .seconds(49 * 3600))))
        // A clock that is behind is believed: it removes less.
        #expect(
            limit(start - 5 * Self.hour, after: .zero)
                == .upTo(now: start - 5 * Self.hour, horizon: start - 6 * Self.hour))
        var ratchet = ClockWitness(opened: .zero)
        var stored = start - Self.hour
        for _ in 0..<100 {
            let claimed = stored + Self.hour + 50 * 60_000
            let limit = ratchet.limit(claimed: claimed, sweptUntil: stored, server: nil, oldest: nil, uptime: .zero)
            if case .upTo(_, let horizon) = limit { stored = max(stored, horizon) }
        }
        #expect(stored <= start)
    }

    @Test(
        "an instant that no clock shows, in a row of a damaged store, is refused and ends nothing",
        arguments: [
            Int64.min, -1, Int64.max,
        ]
    )
    func damage(_ oldest: Int64) {
        var witness = ClockWitness(opened: .zero)
        let now = 1000 * Self.hour
        let limit = witness.limit(claimed: now, sweptUntil: 0, server: nil, oldest: oldest, uptime: .zero)
        #expect(jump(limit) == (oldest < 0))
    }

    @Test("after a long stop sweeping waits for an operator, and goes on after the word, also on a node that runs")
    func confirmation() async throws {
        let path = TemporaryDirectory.shared.path("stopped.sqlite")
        let clock = FixtureClock()
        let first = try SQLTrustStore.sqlite(at: path, clock: clock.storeClock(hasServer: false))
        #expect(try await first.spend(Sample.challenge(), at: clock.now) == .spent)
        #expect(try await first.sweep(at: clock.now, keeping: Retention()).clockFault == nil)
        await first.close()
        // Nobody runs for three days. The program's own clock begins anew.
        let later = Sample.now + 3 * 86_400
        let second = try SQLTrustStore.sqlite(at: path, clock: clock.storeClock(hasServer: false))
        var report = try await second.sweep(at: later, keeping: Retention())
        #expect(report.clockFault == .jump(.seconds(3 * 86_400)) && report.total == 0)
        // Nothing is refused meanwhile.
        #expect(try await second.spend(Sample.challenge(until: later + 300), at: later) == .spent)
        let operators = try SQLTrustStore.sqlite(at: path, clock: clock.storeClock(hasServer: false))
        #expect(try await operators.inspect(at: later).clockFault == .jump(.seconds(3 * 86_400)))
        #expect(try await operators.settleClock(at: later).sweptUntil == later - 3600)
        await operators.close()
        report = try await second.sweep(at: later, keeping: Retention())
        #expect(report.clockFault == nil && report.spent == 1)
        // A short stop needs nobody.
        #expect(try await second.sweep(at: later + 3600, keeping: Retention()).clockFault == nil)
        await second.close()
    }

    @Test("an empty store has no horizon to move")
    func empty() async throws {
        let store = Store.inMemory()
        _ = try await store.sweep(at: .distantFuture, keeping: Retention())
        #expect(try await store.spend(Sample.challenge(), at: Sample.now) == .spent)
    }
}
