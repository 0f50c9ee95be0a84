// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import FoundationEssentials
import TrustStores

extension StoreContract {
    static let counters: [Case] =
        each("of many with one counter value, on two nodes, one is accepted", of: CounterMode.allCases, counterRace)
        + each("of many with one challenge, on two nodes, one is accepted", of: CounterMode.allCases, challengeRace)
        + each("a refused assertion changes nothing", of: CounterMode.allCases, refusals)
        + [
            Case("strict: a counter only grows, whatever the order of arrival", strictOrder),
            Case("challenge mode: late arrivals count, repeats do not, the counter only grows", challengeOrder),
            Case("many keys advance at once without disturbing each other", manyKeys),
        ]

    static func counterRace(_ fixture: StoreFixture, _ mode: CounterMode) async throws {
        let nodes = [fixture.store, try await fixture.another()]
        let id = try await Sample.storeWithKey(in: fixture)
        let challenges = (0..<200).map { _ in Sample.challenge() }
        let outcomes = try await race(200) { index in
            try await nodes[index % 2].advance(id, to: 5, mode, spending: challenges[index])
        }
        try expect(outcomes.count { $0 == .advanced(previous: 0) }, is: 1)
        try expect(outcomes.count { $0 == .refused(.replayed) }, is: 199)
        var spent = 0
        for challenge in challenges where try await fixture.store.isSpent(challenge) { spent += 1 }
        try expect(spent, is: 1, "only the accepted assertion spends its challenge")
        try expect(try await fixture.store.key(id)?.counter, is: 5)
    }

    static func challengeRace(_ fixture: StoreFixture, _ mode: CounterMode) async throws {
        let nodes = [fixture.store, try await fixture.another()]
        let id = try await Sample.storeWithKey(in: fixture)
        let challenge = Sample.challenge()
        let outcomes = try await race(200) { index in
            try await nodes[index % 2].advance(id, to: UInt32(index + 1), mode, spending: challenge)
        }
        try expect(outcomes.count { $0 == .advanced(previous: 0) }, is: 1)
        try expect(outcomes.count { $0 == .refused(.challengeUsed) || $0 == .refused(.replayed) }, is: 199)
    }

    static func strictOrder(_ fixture: StoreFixture) async throws {
        let store = fixture.store
        let id = try await Sample.storeWithKey(in: fixture)
        func advance(_ counter: UInt32, _ mode: CounterMode = .strict) async throws -> AdvanceOutcome {
            try await store.advance(id, to: counter, mode, at: Sample.now + 5)
        }
        try expect(try await advance(0), is: .refused(.replayed))
        try expect(try await advance(3), is: .advanced(previous: 0))
        try expect(try await advance(3), is: .refused(.replayed))
        try expect(try await advance(2), is: .refused(.replayed))
        try expect(try await advance(4), is: .advanced(previous: 3))
        try expect(try await advance(1 << 31), is: .advanced(previous: 4))
        try expect(try await advance(.max), is: .advanced(previous: 1 << 31))
        try expect(try await advance(0), is: .refused(.replayed))
        try expect(try await advance(.max, .challenge), is: .refused(.replayed))
        try expect(try await advance(.max - 1, .challenge), is: .refused(.replayed), "a change of mode opens nothing")
        let key = try await store.key(id)
        try expect(key?.counter == .max && key?.lastUsedAt == Sample.now + 5)
        try expect(key?.largestGap, is: UInt32.max - UInt32(1 << 31) - 1)
    }

    static func challengeOrder(_ fixture: StoreFixture) async throws {
        let id = try await Sample.storeWithKey(in: fixture)
        let counters = (1...60).map(UInt32.init).shuffled()
        let outcomes = try await race(120) { index in
            try await fixture.store.advance(id, to: counters[index / 2], .challenge)
        }
        try expect(outcomes.count { if case .advanced = $0 { true } else { false } }, is: 60)
        try expect(outcomes.count { $0 == .refused(.replayed) }, is: 60)
        try expect(try await fixture.store.key(id)?.counter, is: 60)
        try expect(try await fixture.store.advance(id, to: 1000, .challenge), is: .advanced(previous: 60))
        // Beyond the window nothing is known: the challenge is the guard.
        try expect(try await fixture.store.advance(id, to: 7, .challenge), is: .advanced(previous: 1000))
        try expect(try await fixture.store.key(id)?.counter, is: 1000)
    }

    static func refusals(_ fixture: StoreFixture, _ mode: CounterMode) async throws {
        let store = fixture.store
        let id = try await Sample.storeWithKey(in: fixture)
        let before = try await store.key(id)
        let expired = Sample.challenge(until: Sample.now)
        let used = Sample.challenge()
        try expect(try await store.spend(used, at: Sample.now), is: .spent)
        for (key, challenge, refusal) in [
            (id, expired, AdvanceRefusal.challengeExpired), (id, used, .challengeUsed),
            (Sample.keyId(), Sample.challenge(), .keyUnknown),
        ] {
            try expect(try await store.advance(key, to: 1, mode, spending: challenge), is: .refused(refusal))
            if refusal == .keyUnknown { try expect(try await !store.isSpent(challenge)) }
        }
        try expect(try await store.key(id), is: before)
        try expect(try await store.advance(id, to: 1, mode), is: .advanced(previous: 0))
    }

    static func manyKeys(_ fixture: StoreFixture) async throws {
        let keys = try await Sample.keys(20, in: fixture.store)
        for counter in 1...10 as ClosedRange<UInt32> {
            let outcomes = try await race(keys.count) { index in
                try await fixture.store.advance(keys[index], to: counter)
            }
            try expect(outcomes.allSatisfy { $0 == .advanced(previous: counter - 1) })
        }
    }
}
