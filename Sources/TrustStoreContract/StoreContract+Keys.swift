// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import Crypto
import FoundationEssentials
import TrustStores

extension StoreContract {
    static let keys: [Case] = [
        Case("a key comes back as it was stored", roundTrip),
        Case("many who ask for keys at once get each their own", readTogether),
        Case("of many who send one attestation, on two nodes, one inserts it and the rest find it", insertRace),
        Case("the same object again changes nothing, whatever became of the challenge", repeated),
        Case("another user, another app, another object: refused, and nothing changes", conflicts),
        Case("many users race for one key: one owner, on two nodes", ownerRace),
        Case("one challenge serves one of many keys", oneChallengeManyKeys),
        Case("a key is revoked once", revoke),
        Case("a revoked key is restored once, in time, with its counter", restore),
        Case("a revoked key that was deleted is not inserted again, on any node", tombstones),
        Case("a key that was deleted before the store had its secret stays refused", oldTombstones),
        Case("revoked keys are listed, newest first, also after their deletion", revokedKeys),
        Case("keys of a user are counted by app and time", counts),
    ]

    static func roundTrip(_ fixture: StoreFixture) async throws {
        let store = fixture.store
        let registration = Sample.registration(user: "ann \u{1F600} 'quoted'", receipt: Sample.receipt(metric: 2))
        let challenge = Sample.challenge()
        let outcome = try await store.insert(registration, spending: challenge, at: Sample.now)
        try expect(outcome, is: .inserted(registration.stored(at: Sample.now)))
        try expect(try await store.key(registration.id), is: registration.stored(at: Sample.now))
        try expect(try await store.key(Sample.keyId()), is: nil)
        try expect(try await store.isSpent(challenge))
        try expect(try await store.history(of: registration.id, limit: 10).map(\.kind), is: ["attested"])
        try expect(try await store.receipts(of: registration.id, limit: 5).map(\.receipt), is: [registration.receipt])
    }

    static func readTogether(_ fixture: StoreFixture) async throws {
        let store = fixture.store
        let keys = try await Sample.keys(40, in: store)
        let asked = keys + keys + [Sample.keyId(), Sample.keyId()]
        let found = try await race(asked.count * 4) { index in
            (id: asked[index % asked.count], found: try await store.key(asked[index % asked.count])?.id)
        }
        for answer in found { try expect(answer.found, is: keys.contains(answer.id) ? answer.id : nil) }
        // Whoever asks after a revocation sees it.
        _ = try await race(keys.count) { index in
            try expect(try await store.revoke(keys[index], code: nil, at: Sample.now), is: .revoked)
            try expect(try await store.key(keys[index])?.revokedAt, is: Sample.now)
        }
    }

    static func insertRace(_ fixture: StoreFixture) async throws {
        let nodes = [fixture.store, try await fixture.another()]
        let registration = Sample.registration(user: "ann")
        let challenge = Sample.challenge()
        let outcomes = try await race(200) {
            try await nodes[$0 % 2].insert(registration, spending: challenge, at: Sample.now)
        }
        let stored = registration.stored(at: Sample.now)
        try expect(outcomes.count { $0 == .inserted(stored) }, is: 1)
        try expect(outcomes.count { $0 == .existing(stored) }, is: 199)
        try expect(try await fixture.store.history(of: registration.id, limit: 10).count, is: 1)
    }

    static func repeated(_ fixture: StoreFixture) async throws {
        let store = fixture.store
        let registration = Sample.registration(user: "ann")
        let challenge = Sample.challenge()
        _ = try await store.insert(registration, spending: challenge, at: Sample.now)
        try expect(try await store.advance(registration.id, to: 9), is: .advanced(previous: 0))
        let later = Sample.now + 100_000
        for again in [challenge, Sample.challenge(until: later + 300)] {
            guard case .existing(let key) = try await store.insert(registration, spending: again, at: later) else {
                throw ContractViolation("the byte-equal object was not found")
            }
            try expect(key.counter, is: 9)
            if again != challenge { try expect(try await !store.isSpent(again)) }
        }
    }

    static func conflicts(_ fixture: StoreFixture) async throws {
        let store = fixture.store
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
            try expect(try await store.insert(rival, spending: challenge, at: Sample.now), is: .refused(refusal))
            try expect(try await !store.isSpent(challenge), "a refused try must not burn the challenge")
        }
        try expect(try await store.key(id), is: first.stored(at: Sample.now))
        try expect(try await store.receipts(of: id, limit: 9).count, is: 1)
    }

    static func ownerRace(_ fixture: StoreFixture) async throws {
        let nodes = [fixture.store, try await fixture.another()]
        let id = Sample.keyId()
        let outcomes = try await race(100) { index in
            try await nodes[index % 2].insert(
                Sample.registration(id: id, user: "user \(index)"), spending: Sample.challenge(), at: Sample.now)
        }
        try expect(outcomes.count { if case .inserted = $0 { true } else { false } }, is: 1)
        try expect(outcomes.count { $0 == .refused(.otherUser) }, is: 99)
        try expect(try await fixture.store.receipts(of: id, limit: 200).count, is: 1)
    }

    static func oneChallengeManyKeys(_ fixture: StoreFixture) async throws {
        let nodes = [fixture.store, try await fixture.another()]
        let challenge = Sample.challenge()
        let ids = (0..<100).map { _ in Sample.keyId() }
        let outcomes = try await race(100) { index in
            try await nodes[index % 2].insert(Sample.registration(id: ids[index]), spending: challenge, at: Sample.now)
        }
        try expect(outcomes.count { if case .inserted = $0 { true } else { false } }, is: 1)
        try expect(outcomes.count { $0 == .refused(.challengeUsed) }, is: 99)
        var stored = 0
        for id in ids where try await fixture.store.key(id) != nil { stored += 1 }
        try expect(stored, is: 1)
        let late = Sample.registration()
        try expect(
            try await nodes[0].insert(late, spending: Sample.challenge(until: Sample.now), at: Sample.now)
                == .refused(.challengeExpired))
        try expect(try await nodes[0].key(late.id), is: nil)
    }

    static func revoke(_ fixture: StoreFixture) async throws {
        let nodes = [fixture.store, try await fixture.another()]
        let id = try await Sample.storeWithKey(in: fixture, refreshAt: Sample.now)
        let outcomes = try await race(50) { index in
            try await nodes[index % 2].revoke(id, code: "operator", at: Sample.now + 1)
        }
        try expect(outcomes.count { $0 == .revoked }, is: 1)
        try expect(outcomes.count { $0 == .alreadyRevoked(Sample.now + 1) }, is: 49)
        try expect(try await fixture.store.revoke(Sample.keyId(), code: nil, at: Sample.now), is: .unknown)
        try expect(try await fixture.store.key(id)?.revokedAt, is: Sample.now + 1)
        let challenge = Sample.challenge()
        for mode in CounterMode.allCases {
            let outcome = try await fixture.store.advance(id, to: 1, mode, spending: challenge)
            try expect(outcome, is: .refused(.revoked))
        }
        try expect(try await !fixture.store.isSpent(challenge))
        let history = try await fixture.store.history(of: id, limit: 10)
        try expect(history.map(\.kind) == ["attested", "revoked"] && history.last?.code == "operator")
        try expect(try await fixture.store.leaseDueReceipts(at: Sample.now + 9, limit: 9, for: .seconds(9)).isEmpty)
    }

    static func restore(_ fixture: StoreFixture) async throws {
        let nodes = [fixture.store, try await fixture.another()]
        let id = try await Sample.storeWithKey(in: fixture, refreshAt: Sample.now)
        @Sendable func restore(_ id: KeyIdentifier, since start: Date, _ node: Int = 0) async throws -> RestoreOutcome {
            try await nodes[node].restore(id, revokedSince: start, refreshAt: Sample.now + 40, at: Sample.now + 20)
        }
        func advance(_ counter: UInt32) async throws -> AdvanceOutcome {
            try await nodes[1].advance(id, to: counter, at: Sample.now + 30)
        }
        try expect(try await advance(7), is: .advanced(previous: 0))
        try expect(try await restore(id, since: Sample.now), is: .notRevoked)
        try expect(try await restore(Sample.keyId(), since: Sample.now), is: .unknown)
        try expect(try await nodes[0].revoke(id, code: "operator", at: Sample.now + 10), is: .revoked)
        try expect(try await restore(id, since: Sample.now + 11), is: .tooLate(Sample.now + 10))
        try expect(try await advance(8), is: .refused(.revoked))
        let outcomes = try await race(20) { try await restore(id, since: Sample.now + 10, $0 % 2) }
        try expect(outcomes.count { $0 == .restored }, is: 1)
        try expect(outcomes.count { $0 == .notRevoked }, is: 19)
        let key = try require(try await nodes[1].key(id))
        try expect(key.revokedAt == nil && key.restoredAt == Sample.now + 20 && key.counter == 7)
        try expect(try await advance(7), is: .refused(.replayed))
        try expect(try await advance(8), is: .advanced(previous: 7))
        try expect(try await nodes[1].history(of: id, limit: 9).map(\.kind), is: ["attested", "revoked", "restored"])
        try expect(try await nodes[0].leaseDueReceipts(at: Sample.now + 39, limit: 9, for: .seconds(9)).isEmpty)
        let leases = try await nodes[0].leaseDueReceipts(at: Sample.now + 40, limit: 9, for: .seconds(9))
        try expect(leases.map(\.key.id), is: [id])
        // It may be revoked again.
        try expect(try await nodes[1].revoke(id, code: nil, at: Sample.now + 50), is: .revoked)
        try expect(try await nodes[0].keyCounts().isEmpty)
    }

    static func tombstones(_ fixture: StoreFixture) async throws {
        let nodes = [fixture.store, try await fixture.another()]
        @Sendable func insert(
            _ id: KeyIdentifier, _ node: Int, digest: [UInt8] = Sample.bytes(32)
        ) async throws -> InsertOutcome {
            let challenge = Sample.challenge()
            let outcome = try await nodes[node].insert(
                Sample.registration(id: id, user: "ann", digest: digest), spending: challenge, at: Sample.now)
            if outcome == .refused(.revoked) { try expect(try await !nodes[node].isSpent(challenge)) }
            return outcome
        }
        @Sendable func isInserted(_ outcome: InsertOutcome) -> Bool {
            if case .inserted = outcome { true } else { false }
        }
        let (revoked, other, restored) = (Sample.keyId(), Sample.keyId(), Sample.keyId())
        let digest = Sample.bytes(32)
        for id in [revoked, other, restored] { try expect(isInserted(try await insert(id, 0, digest: digest))) }
        for id in [revoked, restored] {
            try expect(try await nodes[0].revoke(id, code: nil, at: Sample.now), is: .revoked)
        }
        try expect(
            try await nodes[0].restore(restored, revokedSince: Sample.now, refreshAt: nil, at: Sample.now),
            is: .restored)
        // It cannot be added during the deletion, nor afterwards.
        let outcomes = try await race(20) { index -> Bool in
            if index == 10 { return try await nodes[1].deleteKeys(ofUser: "ann", app: nil) == 0 }
            return isInserted(try await insert(revoked, index % 2))
        }
        try expect(!outcomes.contains(true))
        try expect(try await insert(revoked, 1, digest: digest), is: .refused(.revoked))
        try expect(try await nodes[0].key(revoked), is: nil)
        try expect(
            try await nodes[0].restore(revoked, revokedSince: Sample.now, refreshAt: nil, at: Sample.now), is: .unknown)
        // A key that was never revoked, or was restored, may come again.
        for id in [other, restored] { try expect(isInserted(try await insert(id, 1, digest: digest))) }
        try expect(try await nodes[0].revoke(other, code: nil, at: Sample.now), is: .revoked)
        try expect(try await nodes[0].deleteKey(other))
        try expect(try await insert(other, 1), is: .refused(.revoked))
    }

    static func oldTombstones(_ fixture: StoreFixture) async throws {
        let (store, other) = (fixture.store, try await fixture.another())
        let ids = [try await Sample.storeWithKey(in: fixture), try await Sample.storeWithKey(in: fixture)]
        for id in ids {
            _ = try await store.revoke(id, code: nil, at: Sample.now)
            try expect(try await store.deleteKey(id))
            _ = try await store.secret(named: "audit", orElse: Sample.bytes(32))
        }
        for id in ids {
            let registration = Sample.registration(id: id)
            let outcome = try await other.insert(registration, spending: Sample.challenge(), at: Sample.now)
            try expect(outcome, is: .refused(.revoked))
        }
        let names = Set(ids.map { Array(SHA256.hash(data: $0.bytes).prefix(12)) })
        try expect(Set(try await other.revokedKeys(since: Sample.now, limit: 9).names), is: names)
    }

    static func revokedKeys(_ fixture: StoreFixture) async throws {
        let nodes = [fixture.store, try await fixture.another()]
        let ids = try await Sample.keys(4, in: fixture.store)
        for (index, id) in ids.prefix(3).enumerated() {
            _ = try await nodes[index % 2].revoke(id, code: nil, at: Sample.now + Double(index + 1))
        }
        _ = try await nodes[0].deleteKey(ids[2])
        _ = try await nodes[0].deleteKey(ids[3])
        // The one that was deleted is known by its day.
        let names = ids.map { Array(SHA256.hash(data: $0.bytes).prefix(12)) }
        for node in nodes {
            let all = try await node.revokedKeys(since: Sample.now, limit: 3)
            try expect(all.names == [names[2], names[1], names[0]] && all.isComplete)
            let newest = try await node.revokedKeys(since: Sample.now, limit: 2)
            try expect(newest.names == [names[2], names[1]] && !newest.isComplete)
            try expect(try await node.revokedKeys(since: Sample.now + 2, limit: 9).names, is: [names[2], names[1]])
            try expect(try await node.revokedKeys(since: Sample.now + 4, limit: 9).names, is: [names[2]])
            let later = try await node.revokedKeys(since: Sample.now + 86_400, limit: 9)
            try expect(later.names.isEmpty && later.isComplete)
            try expect(try await !node.revokedKeys(since: Sample.now, limit: -1).isComplete)
        }
    }

    static func counts(_ fixture: StoreFixture) async throws {
        let store = fixture.store
        for (app, user, offset) in [("a", "ann", 0.0), ("a", "ann", 10), ("a", "bob", 0), ("b", "ann", 0)] {
            let instant = Sample.now + offset
            _ = try await store.insert(
                Sample.registration(app: app, user: user), spending: Sample.challenge(), at: instant)
        }
        try expect(try await store.keyCount(ofUser: "ann", app: "a", since: Sample.now), is: 2)
        try expect(try await store.keyCount(ofUser: "ann", app: "a", since: Sample.now + 1), is: 1)
        try expect(try await store.keyCount(ofUser: "eve", app: "a", since: Sample.now), is: 0)
    }
}
