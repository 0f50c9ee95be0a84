// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import AppAttest
package import FoundationEssentials
package import TrustStores

/// Values for the contract and the tests of this package; each request gives another one.
package enum Sample {
    /// When every test begins.
    package static let now = Date(timeIntervalSince1970: 1_795_000_000)

    package static func bytes(_ count: Int) -> [UInt8] { (0..<count).map { _ in UInt8.random(in: 0...255) } }

    package static func keyId() -> KeyIdentifier {
        guard let id = KeyIdentifier(bytes: bytes(32)) else { preconditionFailure("32 bytes are an id") }
        return id
    }

    package static func challenge(until expiry: Date = now + 300) -> SpendableChallenge {
        SpendableChallenge(id: bytes(16), expiresAt: expiry)
    }

    package static func claim(
        transaction: String = "t", of subject: PromotionSubject = .key(keyId())
    ) throws -> PromotionClaim {
        try require(PromotionClaim(promotion: "welcome", app: "app", subject: subject, transactionId: transaction))
    }

    package static func auditEntry(_ target: String = "key", at instant: Date = now) -> AuditEntry {
        AuditEntry(at: instant, name: "ann", operation: "keys.revoke", target: target, outcome: "ok")
    }

    package static let tokens = PromotionTokens(reading: "first", writing: "second")

    package static func receipt(
        created: Date = now, metric: Int? = nil, notBefore: Date? = nil, bytes: [UInt8] = Sample.bytes(64)
    ) -> ReceiptRecord {
        ReceiptRecord(
            bytes: bytes, createdAt: created, notBefore: notBefore, expiresAt: created + 90 * 86_400, riskMetric: metric
        )
    }

    package static func registration(
        id: KeyIdentifier = keyId(), app: String = "app", user: String? = nil, digest: [UInt8] = bytes(32),
        environment: String = "production", simulated: Bool = false, receipt: ReceiptRecord = Sample.receipt(),
        refreshAt: Date? = nil
    ) -> KeyRegistration {
        let record = KeyRecord(
            id: id, publicKeyBytes: [4] + id.bytes + id.bytes, app: app, identity: "ABCDE12345.com.example.app",
            environment: environment, simulated: simulated, user: user, attestationDigest: digest,
            validationCategory: 4, bundleVersion: "1.0", osVersion: "27.0.1")
        return KeyRegistration(record, receipt: receipt, refreshAt: refreshAt)
    }

    /// A store that holds one key, at counter 0.
    package static func storeWithKey(
        in fixture: StoreFixture, refreshAt: Date? = nil, receipt: ReceiptRecord = Sample.receipt()
    ) async throws -> KeyIdentifier {
        let id = keyId()
        let outcome = try await fixture.store.insert(
            registration(id: id, receipt: receipt, refreshAt: refreshAt), spending: challenge(), at: now)
        guard case .inserted = outcome else { throw StoreFault.damaged("a fresh key was not inserted: \(outcome)") }
        return id
    }

    /// So many keys in a store, at counter 0.
    package static func keys(_ count: Int, in store: any TrustStore) async throws -> [KeyIdentifier] {
        let ids = (0..<count).map { _ in keyId() }
        for id in ids { _ = try await store.insert(registration(id: id), spending: challenge(), at: now) }
        return ids
    }
}

extension TrustStore {
    /// Spends a challenge as the attestation of a new key does.
    package func spend(_ challenge: SpendableChallenge, at instant: Date) async throws -> SpendOutcome {
        switch try await insert(Sample.registration(), spending: challenge, at: instant) {
        case .inserted: .spent
        case .refused(.challengeUsed): .alreadyUsed
        default: .expired
        }
    }

    package func isSpent(_ challenge: SpendableChallenge) async throws -> Bool {
        try await attestationStanding(of: Sample.keyId(), challenge: challenge).isSpent
    }

    /// Advances a counter as the tests do in most cases.
    package func advance(
        _ id: KeyIdentifier, to counter: UInt32, _ mode: CounterMode = .strict,
        spending challenge: SpendableChallenge = Sample.challenge(), at instant: Date = Sample.now
    ) async throws -> AdvanceOutcome {
        try await advance(CounterAdvance(keyId: id, counter: counter, mode: mode, challenge: challenge), at: instant)
    }

    /// Reserves a claim as the tests do in most cases.
    package func standing(
        _ claim: PromotionClaim, tokens: PromotionTokens = Sample.tokens, grantsFrom: Date = .distantPast,
        at instant: Date = Sample.now
    ) async throws -> PromotionStanding {
        try await reserve(claim, tokens: tokens, countingGrantsFrom: grantsFrom, for: .seconds(30), at: instant)
    }

    /// Reserves a claim that must be free.
    package func reserved(
        _ claim: PromotionClaim, tokens: PromotionTokens = Sample.tokens, at instant: Date = Sample.now
    ) async throws -> PromotionReservation {
        let standing = try await standing(claim, tokens: tokens, at: instant)
        guard case .reserved(let reservation) = standing else {
            throw StoreFault.damaged("a free claim was not reserved: \(standing)")
        }
        return reservation
    }
}

/// Runs the bodies all at once and gives what each returned.
package func race<Outcome: Sendable>(
    _ count: Int, _ body: @escaping @Sendable (Int) async throws -> Outcome
) async throws -> [Outcome] {
    try await withThrowingTaskGroup(of: Outcome.self) { group in
        for index in 0..<count { group.addTask { try await body(index) } }
        return try await group.reduce(into: []) { $0.append($1) }
    }
}
