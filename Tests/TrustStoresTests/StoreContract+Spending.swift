// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import TrustStores

/// What every backend promises. One extension for each group of verbs.
@Suite("Store contract") struct StoreContract {
    @Test("of many who spend one challenge, on two nodes, one wins", arguments: StoreBackend.all)
    func spendRace(_ backend: StoreBackend) async throws {
        let fixture = try await backend.make()
        let nodes = [fixture.store, try await fixture.another()]
        let challenge = Sample.challenge()
        #expect(try await !fixture.store.isSpent(challenge))
        let outcomes = try await race(300) { try await nodes[$0 % 2].spend(challenge, at: Sample.now) }
        #expect(outcomes.count { $0 == .spent } == 1)
        #expect(outcomes.count { $0 == .alreadyUsed } == 299)
        #expect(try await fixture.store.isSpent(challenge))
    }

    @Test("different challenges do not disturb each other", arguments: StoreBackend.all)
    func spendMany(_ backend: StoreBackend) async throws {
        let store = try await backend.make().store
        let outcomes = try await race(300) { _ in try await store.spend(Sample.challenge(), at: Sample.now) }
        #expect(outcomes.allSatisfy { $0 == .spent })
    }

    @Test("a challenge is good up to the millisecond before its expiry", arguments: StoreBackend.all)
    func expiry(_ backend: StoreBackend) async throws {
        let store = try await backend.make().store
        let expiry = Sample.now + 300
        #expect(try await store.spend(Sample.challenge(until: expiry), at: expiry - 0.001) == .spent)
        #expect(try await store.spend(Sample.challenge(until: expiry), at: expiry) == .expired)
        #expect(try await store.spend(Sample.challenge(until: expiry), at: expiry + 1) == .expired)
    }

    @Test("after a sweep a spent challenge stays refused, also where a clock is behind", arguments: StoreBackend.all)
    func sweep(_ backend: StoreBackend) async throws {
        let fixture = try await backend.make()
        let (store, clock) = (fixture.store, fixture.clock)
        let old = Sample.challenge()
        let unspent = Sample.challenge()
        let fresh = Sample.challenge(until: Sample.now + 86_400)
        for challenge in [old, fresh] { #expect(try await store.spend(challenge, at: Sample.now) == .spent) }
        clock.advance(.seconds(301))
        #expect(try await store.sweep(at: clock.now, keeping: Retention()).spent == 0)
        clock.advance(.seconds(2 * 3600))
        #expect(try await store.sweep(at: clock.now, keeping: Retention()).spent == 1)
        for challenge in [old, unspent] {
            #expect(try await store.spend(challenge, at: Sample.now) == .expired)
        }
        #expect(try await store.spend(fresh, at: Sample.now) == .alreadyUsed)
        // A sweep by a node whose clock is behind does not open the past again.
        _ = try await store.sweep(at: Sample.now - 86_400, keeping: Retention())
        #expect(try await store.spend(unspent, at: Sample.now) == .expired)
    }

    @Test("a single-use token is consumed once on two nodes", arguments: StoreBackend.all)
    func token(_ backend: StoreBackend) async throws {
        let fixture = try await backend.make()
        let nodes = [fixture.store, try await fixture.another()]
        let token = SingleUseToken(id: "jti-\(UUID())", expiresAt: Sample.now + 300)
        let outcomes = try await race(100) { try await nodes[$0 % 2].consume(token, at: Sample.now) }
        #expect(outcomes.count { $0 == .spent } == 1)
        let other = SingleUseToken(id: "jti-\(UUID())", expiresAt: Sample.now)
        #expect(try await nodes[0].consume(other, at: Sample.now) == .expired)
    }

    @Test("of many first callers one secret is kept, and all get that one", arguments: StoreBackend.all)
    func secret(_ backend: StoreBackend) async throws {
        let fixture = try await backend.make()
        let nodes = [fixture.store, try await fixture.another()]
        let secrets = try await race(50) { try await nodes[$0 % 2].secret(named: "mac", orElse: Sample.bytes(32)) }
        #expect(Set(secrets).count == 1)
        #expect(try await nodes[1].secret(named: "other", orElse: [1, 2]) == [1, 2])
    }

    @Test("a closed store says so", arguments: StoreBackend.all)
    func closed(_ backend: StoreBackend) async throws {
        let store = try await backend.make().store
        try await store.check()
        await store.close()
        await #expect(throws: StoreFault.unavailable("")) { try await store.spend(Sample.challenge(), at: Sample.now) }
        await #expect(throws: StoreFault.unavailable("")) { try await store.key(Sample.keyId()) }
        await #expect(throws: StoreFault.unavailable("")) { try await store.check() }
    }
}
