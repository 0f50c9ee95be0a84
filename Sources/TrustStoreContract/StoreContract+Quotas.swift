// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import TrustStores

extension StoreContract {
    static let quotas: [Case] = [
        Case("of many draws on two nodes exactly the limit is given, and each sees a different remainder", drawRace),
        Case("a draw that does not fit costs nothing", drawWhole),
        Case("a window lasts from its first draw, and no clock that is behind opens it again", drawWindow),
        Case("a window that a wrong clock began does not last", drawAfterWrongClock),
        Case("quotas and subjects are counted apart, by their bytes", drawApart),
        Case("a key and what it draws, all or nothing, on two nodes", drawWithKey),
        Case("a sweep forgets windows that are over, and no other", drawAndSweep),
    ]

    private static func draw(
        _ quota: String = "api", _ subject: String = "key", cost: Int = 1, limit: Int = 10
    ) throws -> QuotaDraw {
        try require(QuotaDraw(quota: quota, subject: subject, cost: cost, limit: limit, window: .seconds(60)))
    }

    static func drawRace(_ fixture: StoreFixture) async throws {
        let nodes = [fixture.store, try await fixture.another()]
        let draw = try draw(limit: 100)
        let outcomes = try await race(300) { try await nodes[$0 % 2].draw(draw, at: Sample.now) }
        let rests = outcomes.compactMap { outcome -> Int? in
            if case .drawn(let remaining, _) = outcome { remaining } else { nil }
        }
        try expect(rests.sorted(), is: Array(0..<100))
        try expect(outcomes.count { $0 == .exhausted(until: Sample.now + 60) }, is: 200)
    }

    static func drawWhole(_ fixture: StoreFixture) async throws {
        let store = fixture.store
        let end = Sample.now + 60
        try expect(try await store.draw(draw(cost: 8), at: Sample.now), is: .drawn(remaining: 2, until: end))
        try expect(try await store.draw(draw(cost: 3), at: Sample.now), is: .exhausted(until: end))
        try expect(try await store.draw(draw(cost: 2), at: Sample.now), is: .drawn(remaining: 0, until: end))
        try expect(try await store.draw(draw(), at: Sample.now), is: .exhausted(until: end))
        // A limit that was lowered counts at once, one that was raised too.
        try expect(try await store.draw(draw(limit: 5), at: Sample.now), is: .exhausted(until: end))
        try expect(try await store.draw(draw(limit: 12), at: Sample.now), is: .drawn(remaining: 1, until: end))
    }

    static func drawWindow(_ fixture: StoreFixture) async throws {
        let (store, other) = (fixture.store, try await fixture.another())
        let first = Sample.now + 60
        try expect(try await store.draw(draw(cost: 10), at: Sample.now), is: .drawn(remaining: 0, until: first))
        try expect(try await store.draw(draw(), at: first - 0.001), is: .exhausted(until: first))
        try expect(try await other.draw(draw(cost: 9), at: first), is: .drawn(remaining: 1, until: first + 60))
        // A node that is behind counts into the window that is open.
        let behind = try await store.draw(draw(), at: first - 30)
        try expect(behind, is: .drawn(remaining: 0, until: first + 60))
        try expect(try await store.draw(draw(), at: first - 30), is: .exhausted(until: first + 60))
    }

    static func drawAfterWrongClock(_ fixture: StoreFixture) async throws {
        let store = fixture.store
        _ = try await store.draw(draw(cost: 10), at: Sample.now + 86_400)
        let end = Sample.now + 60
        try expect(try await store.draw(draw(), at: Sample.now), is: .drawn(remaining: 9, until: end))
    }

    static func drawWithKey(_ fixture: StoreFixture) async throws {
        let nodes = [fixture.store, try await fixture.another()]
        let draws = [try draw("user", limit: 5), try draw("address", limit: 3)]
        let sent = (0..<20).map { _ in
            var registration = Sample.registration(user: "ann")
            registration.draws = draws
            return (key: registration, challenge: Sample.challenge())
        }
        let outcomes = try await race(20) { index in
            let outcome = try await nodes[index % 2].insert(
                sent[index].key, spending: sent[index].challenge, at: Sample.now)
            return (index, outcome)
        }
        let exhausted = InsertOutcome.exhausted(until: Sample.now + 60)
        try expect(outcomes.count { if case .inserted = $0.1 { true } else { false } }, is: 3)
        try expect(outcomes.count { $0.1 == exhausted }, is: 17)
        for (index, outcome) in outcomes {
            let (sent, isStored) = (sent[index], outcome != exhausted)
            try expect(try await nodes[0].key(sent.key.id) != nil, is: isStored)
            try expect(try await nodes[1].isSpent(sent.challenge), is: isStored)
        }
        // The first quota had room for two more, and has it still.
        let rest = try await nodes[0].draw(draw("user", cost: 2, limit: 5), at: Sample.now)
        try expect(rest, is: .drawn(remaining: 0, until: Sample.now + 60))
    }

    static func drawApart(_ fixture: StoreFixture) async throws {
        let store = fixture.store
        // The same character in two spellings, a zero byte, and parts that would be alike side by side.
        let names = [("a", "bc"), ("ab", "c"), ("caf\u{E9}", ""), ("cafe\u{301}", ""), ("a", "b\0c"), ("", "abc")]
        for (quota, subject) in names {
            let drawn = try await store.draw(draw(quota, subject, cost: 10), at: Sample.now)
            try expect(drawn, is: .drawn(remaining: 0, until: Sample.now + 60), "\(quota) \(subject)")
        }
    }

    static func drawAndSweep(_ fixture: StoreFixture) async throws {
        let (store, clock) = (fixture.store, fixture.clock)
        let start = clock.now
        _ = try await store.draw(draw("old", cost: 10), at: start)
        let long = try require(QuotaDraw(quota: "long", subject: "key", limit: 1, window: .seconds(86_400)))
        _ = try await store.draw(long, at: start)
        clock.advance(.seconds(2 * 3600))
        // Something else is stored, so that the store knows when it was begun.
        try expect(try await store.spend(Sample.challenge(until: clock.now + 60), at: clock.now), is: .spent)
        let report = try await store.sweep(at: clock.now, keeping: Retention())
        try expect(report.clockFault, is: nil)
        try expect(report.quotas, is: 1)
        try expect(try await store.draw(long, at: clock.now), is: .exhausted(until: start + 86_400))
    }
}
