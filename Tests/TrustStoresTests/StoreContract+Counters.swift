// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import Foundation
import Testing

@testable import TrustStores

extension StoreContract {
    @Test(
        "of many with one counter value, on two nodes, one is accepted",
        arguments: StoreBackend.all,
        CounterMode.allCases
    )
    func counterRace(_ backend: StoreBackend, _ mode: CounterMode) async throws {
        let fixture = try await backend.make()
        let nodes = [fixture.store, try await fixture.another()]
        let id = try await Sample.storeWithKey(in: fixture)
        let challenges = (0..<200).map { _ in Sample.challenge() }
        let outcomes = try await race(200) { index in
            try await nodes[index % 2].advance(
                CounterAdvance(keyId: id, counter: 5, mode: mode, challenge: challenges[index]),
                at: Sample.now
            )
        }
        #expect(outcomes.count { $0 == .advanced(previous: 0) } == 1)
        #expect(outcomes.count { $0 == .refused(.replayed) } == 199)
        var spent = 0
        for challenge in challenges where try await fixture.store.isSpent(challenge) { spent += 1 }
        #expect(spent == 1, "only the accepted assertion spends its challenge")
        #expect(try await fixture.store.key(id)?.counter == 5)
    }

    @Test(
        "of many with one challenge, on two nodes, one is accepted",
        arguments: StoreBackend.all,
        CounterMode.allCases
    )
    func challengeRace(_ backend: StoreBackend, _ mode: CounterMode) async throws {
        let fixture = try await backend.make()
        let nodes = [fixture.store, try await fixture.another()]
        let id = try await Sample.storeWithKey(in: fixture)
        let challenge = Sample.challenge()
        let outcomes = try await race(200) { index in
            try await nodes[index % 2].advance(
                CounterAdvance(keyId: id, counter: UInt32(index + 1), mode: mode, challenge: challenge),
                at: Sample.now
            )
        }
        #expect(outcomes.count { $0 == .advanced(previous: 0) } == 1)
        #expect(
            outcomes.count { $0 == .refused(.challengeUsed) || $0 == .refused(.replayed) } == 199
        )
    }

    @Test("strict: a counter only grows, whatever the order of arrival", arguments: StoreBackend.all)
    func strictOrder(_ backend: StoreBackend) async throws {
        let fixture = try await backend.make()
        let store = fixture.store
        let id = try await Sample.storeWithKey(in: fixture)
        func advance(_ counter: UInt32, _ mode: CounterMode = .strict) async throws -> AdvanceOutcome {
            try await store.advance(
                CounterAdvance(keyId: id, counter: counter, mode: mode, challenge: Sample.challenge()),
                at: Sample.now + 5
            )
        }
        #expect(try await advance(0) == .refused(.replayed))
        #expect(try await advance(3) == .advanced(previous: 0))
        #expect(try await advance(3) == .refused(.replayed))
        #expect(try await advance(2) == .refused(.replayed))
        #expect(try await advance(4) == .advanced(previous: 3))
        #expect(try await advance(1 << 31) == .advanced(previous: 4))
        #expect(try await advance(.max) == .advanced(previous: 1 << 31))
        #expect(try await advance(0) == .refused(.replayed))
        #expect(try await advance(.max, .challenge) == .refused(.replayed))
        #expect(try await advance(.max - 1, .challenge) == .refused(.replayed), "a change of mode opens nothing")
        let key = try await store.key(id)
        #expect(key?.counter == .max && key?.lastUsedAt == Sample.now + 5)
        #expect(key?.largestGap == UInt32.max - UInt32(1 << 31) - 1)
    }

    @Test("challenge mode: late arrivals count, repeats do not, the counter only grows", arguments: StoreBackend.all)
    func challengeOrder(_ backend: StoreBackend) async throws {
        let fixture = try await backend.make()
        let id = try await Sample.storeWithKey(in: fixture)
        let counters = (1...60).map(UInt32.init).shuffled()
        let outcomes = try await race(120) { index in
            try await fixture.store.advance(
                CounterAdvance(
                    keyId: id,
                    counter: counters[index / 2],
                    mode: .challenge,
                    challenge: Sample.challenge()
                ),
                at: Sample.now
            )
        }
        #expect(outcomes.count { if case .advanced = $0 { true } else { false } } == 60)
        #expect(outcomes.count { $0 == .refused(.replayed) } == 60)
        #expect(try await fixture.store.key(id)?.counter == 60)
        let far = CounterAdvance(keyId: id, counter: 1000, mode: .challenge, challenge: Sample.challenge())
        #expect(try await fixture.store.advance(far, at: Sample.now) == .advanced(previous: 60))
        // Beyond the window nothing is known: the challenge is the guard.
        let old = CounterAdvance(keyId: id, counter: 7, mode: .challenge, challenge: Sample.challenge())
        #expect(try await fixture.store.advance(old, at: Sample.now) == .advanced(previous: 1000))
        #expect(try await fixture.store.key(id)?.counter == 1000)
    }

    @Test("a refused assertion changes nothing", arguments: StoreBackend.all, CounterMode.allCases)
    func refusals(_ backend: StoreBackend, _ mode: CounterMode) async throws {
        let fixture = try await backend.make()
        let store = fixture.store
        let id = try await Sample.storeWithKey(in: fixture)
        let before = try await store.key(id)
        let expired = Sample.challenge(until: Sample.now)
        let used = Sample.challenge()
        #expect(try await store.spend(used, at: Sample.now) == .spent)
        for (key, challenge, refusal) in [
            (id, expired, AdvanceRefusal.challengeExpired), (id, used, .challengeUsed),
            (Sample.keyId(), Sample.challenge(), .keyUnknown),
        ] {
            let advance = CounterAdvance(keyId: key, counter: 1, mode: mode, challenge: challenge)
            #expect(try await store.advance(advance, at: Sample.now) == .refused(refusal))
            if refusal == .keyUnknown { #expect(try await !store.isSpent(challenge)) }
        }
        #expect(try await store.key(id) == before)
        let good = CounterAdvance(keyId: id, counter: 1, mode: mode, challenge: Sample.challenge())
        #expect(try await store.advance(good, at: Sample.now) == .advanced(previous: 0))
    }

    @Test("many keys advance at once without disturbing each other", arguments: StoreBackend.all)
    func manyKeys(_ backend: StoreBackend) async throws {
        let fixture = try await backend.make()
        var ids: [KeyIdentifier] = []
        for _ in 0..<20 { ids.append(try await Sample.storeWithKey(in: fixture)) }
        let keys = ids
        for counter in 1...10 as ClosedRange<UInt32> {
            let outcomes = try await race(keys.count) { index in
                try await fixture.store.advance(
                    CounterAdvance(keyId: keys[index], counter: counter, mode: .strict, challenge: Sample.challenge()),
                    at: Sample.now
                )
            }
            #expect(outcomes.allSatisfy { $0 == .advanced(previous: counter - 1) })
        }
    }
}
