// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import TrustStores

extension StoreContract {
    static let spending: [Case] = [
        Case("of many who spend one challenge, on two nodes, one wins", spendRace),
        Case("different challenges do not disturb each other", spendMany),
        Case("a challenge is good up to the millisecond before its expiry", expiry),
        Case("after a sweep a spent challenge stays refused, even if a clock is behind", sweep),
        Case("a single-use token is consumed once on two nodes", token),
        Case("of many first callers one secret is kept, and all get that one", secret),
        Case("a closed store says so", closed),
    ]

    static func spendRace(_ fixture: StoreFixture) async throws {
        let nodes = [fixture.store, try await fixture.another()]
        let challenge = Sample.challenge()
        try expect(try await !fixture.store.isSpent(challenge))
        let outcomes = try await race(300) { try await nodes[$0 % 2].spend(challenge, at: Sample.now) }
        try expect(outcomes.count { $0 == .spent }, is: 1)
        try expect(outcomes.count { $0 == .alreadyUsed }, is: 299)
        try expect(try await fixture.store.isSpent(challenge))
    }

    static func spendMany(_ fixture: StoreFixture) async throws {
        let store = fixture.store
        let outcomes = try await race(300) { _ in try await store.spend(Sample.challenge(), at: Sample.now) }
        try expect(outcomes.allSatisfy { $0 == .spent })
    }

    static func expiry(_ fixture: StoreFixture) async throws {
        let store = fixture.store
        let expiry = Sample.now + 300
        try expect(try await store.spend(Sample.challenge(until: expiry), at: expiry - 0.001), is: .spent)
        try expect(try await store.spend(Sample.challenge(until: expiry), at: expiry), is: .expired)
        try expect(try await store.spend(Sample.challenge(until: expiry), at: expiry + 1), is: .expired)
    }

    static func sweep(_ fixture: StoreFixture) async throws {
        let (store, clock) = (fixture.store, fixture.clock)
        let old = Sample.challenge()
        let unspent = Sample.challenge()
        let fresh = Sample.challenge(until: Sample.now + 86_400)
        for challenge in [old, fresh] { try expect(try await store.spend(challenge, at: Sample.now), is: .spent) }
        clock.advance(.seconds(301))
        try expect(try await store.sweep(at: clock.now, keeping: Retention()).spent, is: 0)
        clock.advance(.seconds(2 * 3600))
        try expect(try await store.sweep(at: clock.now, keeping: Retention()).spent, is: 1)
        for challenge in [old, unspent] {
            try expect(try await store.spend(challenge, at: Sample.now), is: .expired)
        }
        try expect(try await store.spend(fresh, at: Sample.now), is: .alreadyUsed)
        // A sweep by a node whose clock is behind does not open the past again.
        _ = try await store.sweep(at: Sample.now - 86_400, keeping: Retention())
        try expect(try await store.spend(unspent, at: Sample.now), is: .expired)
    }

    static func token(_ fixture: StoreFixture) async throws {
        let nodes = [fixture.store, try await fixture.another()]
        let token = SingleUseToken(id: "jti-\(UUID())", expiresAt: Sample.now + 300)
        let outcomes = try await race(100) { try await nodes[$0 % 2].consume(token, at: Sample.now) }
        try expect(outcomes.count { $0 == .spent }, is: 1)
        let other = SingleUseToken(id: "jti-\(UUID())", expiresAt: Sample.now)
        try expect(try await nodes[0].consume(other, at: Sample.now), is: .expired)
    }

    static func secret(_ fixture: StoreFixture) async throws {
        let nodes = [fixture.store, try await fixture.another()]
        let secrets = try await race(50) { try await nodes[$0 % 2].secret(named: "mac", orElse: Sample.bytes(32)) }
        try expect(Set(secrets).count, is: 1)
        try expect(try await nodes[1].secret(named: "other", orElse: [1, 2]), is: [1, 2])
    }

    static func closed(_ fixture: StoreFixture) async throws {
        let store = fixture.store
        try await store.check()
        await store.close()
        try await expect(throws: StoreFault.unavailable("")) {
            try await store.spend(Sample.challenge(), at: Sample.now)
        }
        try await expect(throws: StoreFault.unavailable("")) { try await store.key(Sample.keyId()) }
        try await expect(throws: StoreFault.unavailable("")) { try await store.check() }
    }
}
