// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import Crypto
import Foundation
import TestSupport
import Testing
import TrustStoreContract

@testable import TrustStores

@Suite struct TombstoneTests {
    @Test("what lasts of a deleted revoked key cannot be computed from its id", arguments: StoreBackend.persistent)
    func keyed(_ backend: StoreBackend) async throws {
        let fixture = try await backend.make()
        let store = try #require(fixture.store as? SQLTrustStore)
        _ = try await store.secret(named: AuditChain.secretName, orElse: Sample.bytes(32))
        let id = try await Sample.storeWithKey(in: fixture)
        _ = try await store.revoke(id, code: nil, at: Sample.now)
        #expect(try await store.deleteKey(id))
        func names() async throws -> [[UInt8]] {
            try await store.engine.read { session in
                try session.run("SELECT name FROM key_tombstones ORDER BY length(name)").rows.map { try $0.bytes(0) }
            }
        }
        let hash = Array(SHA256.hash(data: id.bytes))
        let first = try await names()
        #expect(first.map(\.count) == [12, 33] && first.first == Array(hash.prefix(12)))
        // The list of revoked keys needs the mark for longer than any token lives.
        #expect(try await store.sweep(at: fixture.clock.now, keeping: Retention()).tombstones == 0)
        fixture.clock.advance(.seconds(10 * 86_400))
        #expect(try await store.sweep(at: fixture.clock.now, keeping: Retention()).tombstones == 1)
        #expect(try await names() == Array(first.suffix(1)))
        let challenge = Sample.challenge(until: fixture.clock.now + 300)
        let again = try await store.insert(Sample.registration(id: id), spending: challenge, at: fixture.clock.now)
        #expect(again == .refused(.revoked))
        await store.close()
    }
}
