// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import Foundation
import TestSupport
import Testing
import TrustStoreContract

@testable import TrustStores
@testable import TrustStoresPostgres

/// What a restored `pg_dump` has forgotten, and how `docs/operations.md` ("Restore") keeps it from being used.
@Suite(.serialized, .enabled(if: PostgresServer.isAvailable, "needs PostgreSQL")) struct PostgresRestoreTests {
    /// Two keys; a challenge and a token that are spent, a key that is revoked and one that is made after the backup.
    private struct Past {
        let revoked: KeyIdentifier
        let used: KeyIdentifier
        let late: KeyIdentifier
        let challenge: [UInt8]
        let token: SingleUseToken
        let before: SpendableChallenge
    }

    private static func binding(_ id: KeyIdentifier) -> ChallengeBinding {
        ChallengeBinding(purpose: .assert, app: "app", keyId: id)
    }

    private func codec(_ store: SQLTrustStore, at instant: Date = Sample.now) async throws -> ChallengeCodec {
        try await ChallengeCodec(store: store, candidate: Sample.bytes(32), at: instant)
    }

    private func challenge(
        _ bytes: [UInt8], of id: KeyIdentifier, in store: SQLTrustStore, at instant: Date = Sample.now
    ) async throws -> ChallengeReading {
        try await codec(store, at: instant).read(bytes, for: Self.binding(id), at: instant)
    }

    private func advance(_ id: KeyIdentifier, _ challenge: SpendableChallenge) -> CounterAdvance {
        CounterAdvance(keyId: id, counter: 7, mode: .strict, challenge: challenge)
    }

    /// Lives through a backup and what comes after it, and gives a database into which the backup was restored.
    private func restored() async throws -> (lost: SQLTrustStore, database: String, past: Past) {
        let server = try await PostgresServer.shared.value
        let (source, target) = try await onThread { (try server.emptyDatabase(), try server.emptyDatabase()) }
        let lost = try await SQLTrustStore.postgres(server.url(ofDatabase: source))
        let (revoked, used, late) = (Sample.keyId(), Sample.keyId(), Sample.keyId())
        for id in [revoked, used] {
            _ = try await lost.insert(Sample.registration(id: id), spending: Sample.challenge(), at: Sample.now)
        }
        let before = Sample.challenge()
        #expect(try await lost.spend(before, at: Sample.now) == .spent)
        try await lost.append([Sample.auditEntry("before")])
        let bytes = try await codec(lost).issue(
            for: Self.binding(used), expiresAt: Sample.now + 300, random: Sample.bytes(16))
        // While the service runs.
        let dump = try await onThread { try server.dump(source) }

        guard case .success(let spendable) = try await challenge(bytes, of: used, in: lost) else {
            throw StoreFault.damaged("a fresh challenge is not read")
        }
        #expect(try await lost.advance(advance(used, spendable), at: Sample.now) == .advanced(previous: 0))
        let token = SingleUseToken(id: "jti-\(UUID())", expiresAt: Sample.now + 300)
        #expect(try await lost.consume(token, at: Sample.now) == .spent)
        #expect(try await lost.revoke(revoked, code: nil, at: Sample.now) == .revoked)
        try await lost.append([Sample.auditEntry("key:" + revoked.base64)])
        _ = try await lost.insert(Sample.registration(id: late), spending: Sample.challenge(), at: Sample.now)

        try await onThread { try server.restore(dump, into: target) }
        let past = Past(revoked: revoked, used: used, late: late, challenge: bytes, token: token, before: before)
        return (lost, target, past)
    }

    private func open(_ database: String) async throws -> SQLTrustStore {
        try await SQLTrustStore.postgres(try await PostgresServer.shared.value.url(ofDatabase: database))
    }

    @Test("a restored backup knows what was before it, and has forgotten what came after")
    func forgotten() async throws {
        let (lost, database, past) = try await restored()
        let store = try await open(database)
        #expect(try await store.inspect(at: Sample.now).problems.isEmpty)
        #expect(try await store.spend(past.before, at: Sample.now) == .alreadyUsed)
        // All this is lost; whoever opens the service at once gives it away.
        #expect(try await store.key(past.late) == nil)
        #expect(try await store.key(past.revoked)?.revokedAt == nil)
        #expect(try await store.key(past.used)?.counter == 0)
        #expect(try await store.consume(past.token, at: Sample.now) == .spent)
        guard case .success(let again) = try await challenge(past.challenge, of: past.used, in: store) else {
            throw StoreFault.damaged("the restored store has other keys of challenges")
        }
        #expect(try await store.advance(advance(past.used, again), at: Sample.now) == .advanced(previous: 0))
        for store in [lost, store] { await store.close() }
    }

    @Test(
        "closed for as long as challenges and tokens live: nothing is spent twice, and the audit brings revocations back"
    )
    func waiting() async throws {
        let (lost, database, past) = try await restored()
        let store = try await open(database)
        let later = Sample.now + 301
        #expect(try await challenge(past.challenge, of: past.used, in: store, at: later) == .failure(.expired))
        let spendable = SpendableChallenge(id: Array(past.challenge[8..<24]), expiresAt: Sample.now + 300)
        #expect(try await store.advance(advance(past.used, spendable), at: later) == .refused(.challengeExpired))
        #expect(try await store.consume(past.token, at: later) == .expired)
        // What the restored store's audit does not have.
        let known = try await store.audit(after: nil, limit: 100).last?.number
        let missing = try await lost.audit(after: known, limit: 100).map(\.entry.target)
        #expect(missing == ["key:" + past.revoked.base64])
        for target in missing {
            let id = try #require(KeyIdentifier(strictBase64: String(target.dropFirst(4))))
            #expect(try await store.revoke(id, code: nil, at: later) == .revoked)
        }
        #expect(try await store.key(past.revoked)?.revokedAt == later)
        for store in [lost, store] { await store.close() }
    }

    @Test("opened at once without the keys of challenges: no old challenge is read any more")
    func withoutKeys() async throws {
        let (lost, database, past) = try await restored()
        let server = try await PostgresServer.shared.value
        try await onThread {
            for table in ["challenge_keys", "store_secrets WHERE name = 'challenge-mac'"] {
                try server.query("DELETE FROM \(table)", in: database)
            }
        }
        let nodes = [try await open(database), try await open(database)]
        for node in nodes {
            #expect(try await challenge(past.challenge, of: past.used, in: node) == .failure(.unknown))
        }
        // All nodes have one new key, and the store is sound.
        let fresh = try await codec(nodes[0]).issue(
            for: Self.binding(past.used), expiresAt: Sample.now + 300, random: Sample.bytes(16))
        guard case .success(let spendable) = try await challenge(fresh, of: past.used, in: nodes[1]) else {
            throw StoreFault.damaged("the nodes have different keys of challenges")
        }
        #expect(try await nodes[1].advance(advance(past.used, spendable), at: Sample.now) == .advanced(previous: 0))
        #expect(try await nodes[0].inspect(at: Sample.now).problems.isEmpty)
        for store in nodes + [lost] { await store.close() }
    }
}
