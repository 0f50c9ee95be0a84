// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import TrustStores

extension StoreContract {
    @Test("a key comes back as it was stored", arguments: StoreBackend.all)
    func roundTrip(_ backend: StoreBackend) async throws {
        let store = try await backend.make().store
        let registration = Sample.registration(user: "ann \u{1F600} 'quoted'", receipt: Sample.receipt(metric: 2))
        let challenge = Sample.challenge()
        let outcome = try await store.insert(registration, spending: challenge, at: Sample.now)
        #expect(outcome == .inserted(registration.stored(at: Sample.now)))
        #expect(try await store.key(registration.id) == registration.stored(at: Sample.now))
        #expect(try await store.key(Sample.keyId()) == nil)
        #expect(try await store.isSpent(challenge))
        #expect(try await store.history(of: registration.id, limit: 10).map(\.kind) == ["attested"])
        #expect(try await store.receipts(of: registration.id, limit: 5).map(\.receipt) == [registration.receipt])
    }

    @Test(
        "of many who send one attestation, on two nodes, one inserts it and the rest find it",
        arguments: StoreBackend.all
    )
    func insertRace(_ backend: StoreBackend) async throws {
        let fixture = try await backend.make()
        let nodes = [fixture.store, try await fixture.another()]
        let registration = Sample.registration(user: "ann")
        let challenge = Sample.challenge()
        let outcomes = try await race(200) {
            try await nodes[$0 % 2].insert(registration, spending: challenge, at: Sample.now)
        }
        let stored = registration.stored(at: Sample.now)
        #expect(outcomes.count { $0 == .inserted(stored) } == 1)
        #expect(outcomes.count { $0 == .existing(stored) } == 199)
        #expect(try await fixture.store.history(of: registration.id, limit: 10).count == 1)
    }

    @Test("the same object again changes nothing, whatever became of the challenge", arguments: StoreBackend.all)
    func repeated(_ backend: StoreBackend) async throws {
        let store = try await backend.make().store
        let registration = Sample.registration(user: "ann")
        let challenge = Sample.challenge()
        _ = try await store.insert(registration, spending: challenge, at: Sample.now)
        let advance = CounterAdvance(
            keyId: registration.id,
            counter: 9,
            mode: .strict,
            challenge: Sample.challenge()
        )
        #expect(try await store.advance(advance, at: Sample.now) == .advanced(previous: 0))
        let later = Sample.now + 100_000
        for again in [challenge, Sample.challenge(until: later + 300)] {
            guard case .existing(let key) = try await store.insert(registration, spending: again, at: later) else {
                return #expect(Bool(false), "the byte-equal object was not found")
            }
            #expect(key.counter == 9)
            if again != challenge { #expect(try await !store.isSpent(again)) }
        }
    }

    @Test("another user, another app, another object: refused, and nothing changes", arguments: StoreBackend.all)
    func conflicts(_ backend: StoreBackend) async throws {
        let store = try await backend.make().store
        let id = Sample.keyId()
        let digest = Sample.bytes(32)
        let first = Sample.registration(id: id, user: "ann", digest: digest)
        _ = try await store.insert(first, spending: Sample.challenge(), at: Sample.now)
        let rivals: [(KeyRegistration, InsertRefusal)] = [
            (Sample.registration(id: id, user: "bob", digest: digest), .otherUser),
            (Sample.registration(id: id, user: nil, digest: digest), .otherUser),
            (Sample.registration(id: id, user: "bob"), .otherUser),
            (Sample.registration(id: id, user: "ann"), .exists),
            (Sample.registration(id: id, app: "other", user: "ann", digest: digest), .exists),
        ]
        for (rival, refusal) in rivals {
            let challenge = Sample.challenge()
            #expect(try await store.insert(rival, spending: challenge, at: Sample.now) == .refused(refusal))
            #expect(try await !store.isSpent(challenge), "a refused try must not burn the challenge")
        }
        #expect(try await store.key(id) == first.stored(at: Sample.now))
        #expect(try await store.receipts(of: id, limit: 9).count == 1)
    }

    @Test("many users race for one key: one owner, on two nodes", arguments: StoreBackend.all)
    func ownerRace(_ backend: StoreBackend) async throws {
        let fixture = try await backend.make()
        let nodes = [fixture.store, try await fixture.another()]
        let id = Sample.keyId()
        let outcomes = try await race(100) { index in
            try await nodes[index % 2].insert(
                Sample.registration(id: id, user: "user \(index)"),
                spending: Sample.challenge(),
                at: Sample.now
            )
        }
        #expect(outcomes.count { if case .inserted = $0 { true } else { false } } == 1)
        #expect(outcomes.count { $0 == .refused(.otherUser) } == 99)
        #expect(try await fixture.store.receipts(of: id, limit: 200).count == 1)
    }

    @Test("one challenge serves one of many keys", arguments: StoreBackend.all)
    func oneChallengeManyKeys(_ backend: StoreBackend) async throws {
        let fixture = try await backend.make()
        let nodes = [fixture.store, try await fixture.another()]
        let challenge = Sample.challenge()
        let ids = (0..<100).map { _ in Sample.keyId() }
        let outcomes = try await race(100) { index in
            try await nodes[index % 2].insert(
                Sample.registration(id: ids[index]),
                spending: challenge,
                at: Sample.now
            )
        }
        #expect(outcomes.count { if case .inserted = $0 { true } else { false } } == 1)
        #expect(outcomes.count { $0 == .refused(.challengeUsed) } == 99)
        var stored = 0
        for id in ids where try await fixture.store.key(id) != nil { stored += 1 }
        #expect(stored == 1)
        let late = Sample.registration()
        #expect(
            try await nodes[0].insert(late, spending: Sample.challenge(until: Sample.now), at: Sample.now)
                == .refused(.challengeExpired)
        )
        #expect(try await nodes[0].key(late.id) == nil)
    }

    @Test("a key is revoked once and for good", arguments: StoreBackend.all)
    func revoke(_ backend: StoreBackend) async throws {
        let fixture = try await backend.make()
        let nodes = [fixture.store, try await fixture.another()]
        let id = try await Sample.storeWithKey(in: fixture, refreshAt: Sample.now)
        let outcomes = try await race(50) { index in
            try await nodes[index % 2].revoke(id, code: "operator", at: Sample.now + 1)
        }
        #expect(outcomes.count { $0 == .revoked } == 1)
        #expect(outcomes.count { $0 == .alreadyRevoked(Sample.now + 1) } == 49)
        #expect(try await fixture.store.revoke(Sample.keyId(), code: nil, at: Sample.now) == .unknown)
        #expect(try await fixture.store.key(id)?.revokedAt == Sample.now + 1)
        let challenge = Sample.challenge()
        for mode in CounterMode.allCases {
            let advance = CounterAdvance(keyId: id, counter: 1, mode: mode, challenge: challenge)
            #expect(try await fixture.store.advance(advance, at: Sample.now) == .refused(.revoked))
        }
        #expect(try await !fixture.store.isSpent(challenge))
        let history = try await fixture.store.history(of: id, limit: 10)
        #expect(history.map(\.kind) == ["attested", "revoked"] && history.last?.code == "operator")
        #expect(try await fixture.store.leaseDueReceipts(at: Sample.now + 9, limit: 9, for: .seconds(9)).isEmpty)
    }

    @Test("keys of a user are counted by app and time", arguments: StoreBackend.all)
    func counts(_ backend: StoreBackend) async throws {
        let store = try await backend.make().store
        for (app, user, offset) in [("a", "ann", 0.0), ("a", "ann", 10), ("a", "bob", 0), ("b", "ann", 0)] {
            let instant = Sample.now + offset
            _ = try await store.insert(
                Sample.registration(app: app, user: user),
                spending: Sample.challenge(),
                at: instant
            )
        }
        #expect(try await store.keyCount(ofUser: "ann", app: "a", since: Sample.now) == 2)
        #expect(try await store.keyCount(ofUser: "ann", app: "a", since: Sample.now + 1) == 1)
        #expect(try await store.keyCount(ofUser: "eve", app: "a", since: Sample.now) == 0)
    }
}
