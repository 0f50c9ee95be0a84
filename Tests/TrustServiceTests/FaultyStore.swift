// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import Foundation
import TrustStores

/// A store that asks the test before each verb and tells it what was committed; what the test throws, the verb throws.
struct FaultyStore: TrustStore {
    let base: any TrustStore
    /// Runs before each verb, with its name.
    let before: @Sendable (String) async throws -> Void
    /// Runs after each verb that did not throw.
    let after: @Sendable (String) -> Void

    init(
        _ base: any TrustStore = InMemoryTrustStore(),
        after: @escaping @Sendable (String) -> Void = { _ in },
        before: @escaping @Sendable (String) async throws -> Void
    ) {
        self.base = base
        self.before = before
        self.after = after
    }

    private func pass<Result>(_ verb: String, _ body: () async throws -> Result) async throws -> Result {
        try await before(verb)
        let result = try await body()
        after(verb)
        return result
    }

    func secret(named name: String, orElse candidate: [UInt8]) async throws -> [UInt8] {
        try await pass("secret") { try await base.secret(named: name, orElse: candidate) }
    }
    func check() async throws -> StoreReading { try await pass("check") { try await base.check() } }
    func inspect(at instant: Date) async throws -> StoreInspection {
        try await pass("inspect") { try await base.inspect(at: instant) }
    }
    func settleClock(at instant: Date) async throws -> StoreReading {
        try await pass("settleClock") { try await base.settleClock(at: instant) }
    }
    func sweep(at instant: Date, keeping retention: Retention) async throws -> SweepReport {
        try await pass("sweep") { try await base.sweep(at: instant, keeping: retention) }
    }
    func close() async { await base.close() }

    func challengeKeys(orElse candidate: [UInt8], at instant: Date) async throws -> [ChallengeKey] {
        try await pass("challengeKeys") { try await base.challengeKeys(orElse: candidate, at: instant) }
    }
    func rotateChallengeKey(_ rotation: ChallengeKeyRotation, at instant: Date) async throws -> RotationOutcome {
        try await pass("rotateChallengeKey") { try await base.rotateChallengeKey(rotation, at: instant) }
    }

    func spend(_ challenge: SpendableChallenge, at instant: Date) async throws -> SpendOutcome {
        try await pass("spend") { try await base.spend(challenge, at: instant) }
    }
    func draw(_ draw: QuotaDraw, at instant: Date) async throws -> QuotaOutcome {
        try await pass("draw") { try await base.draw(draw, at: instant) }
    }
    func isSpent(_ challenge: SpendableChallenge) async throws -> Bool {
        try await pass("isSpent") { try await base.isSpent(challenge) }
    }
    func consume(_ token: SingleUseToken, at instant: Date) async throws -> SpendOutcome {
        try await pass("consume") { try await base.consume(token, at: instant) }
    }

    func insert(_ registration: KeyRegistration, spending challenge: SpendableChallenge, at instant: Date) async throws
        -> InsertOutcome
    {
        try await pass("insert") { try await base.insert(registration, spending: challenge, at: instant) }
    }
    func key(_ id: KeyIdentifier) async throws -> StoredKey? { try await pass("key") { try await base.key(id) } }
    func attestationStanding(of id: KeyIdentifier, challenge: SpendableChallenge) async throws -> AttestationStanding {
        try await pass("attestationStanding") { try await base.attestationStanding(of: id, challenge: challenge) }
    }
    func advance(_ advance: CounterAdvance, at instant: Date) async throws -> AdvanceOutcome {
        try await pass("advance") { try await base.advance(advance, at: instant) }
    }
    func revoke(_ id: KeyIdentifier, code: String?, at instant: Date) async throws -> RevokeOutcome {
        try await pass("revoke") { try await base.revoke(id, code: code, at: instant) }
    }
    func keyCount(ofUser user: String, app: String, since instant: Date) async throws -> Int {
        try await pass("keyCount") { try await base.keyCount(ofUser: user, app: app, since: instant) }
    }

    func keys(matching filter: KeyFilter, after cursor: KeyCursor?, limit: Int) async throws -> KeyPage {
        try await pass("keys") { try await base.keys(matching: filter, after: cursor, limit: limit) }
    }
    func keyCounts() async throws -> [KeyCount] { try await pass("keyCounts") { try await base.keyCounts() } }
    func deleteKey(_ id: KeyIdentifier) async throws -> Bool {
        try await pass("deleteKey") { try await base.deleteKey(id) }
    }
    func deleteKeys(ofUser user: String, app: String?) async throws -> Int {
        try await pass("deleteKeys") { try await base.deleteKeys(ofUser: user, app: app) }
    }
    func revokeKeys(of app: String, matching rule: RevocationRule, code: String?, at instant: Date) async throws -> Int
    {
        try await pass("revokeKeys") { try await base.revokeKeys(of: app, matching: rule, code: code, at: instant) }
    }

    func append(_ entries: [AuditEntry]) async throws { try await pass("append") { try await base.append(entries) } }
    func audit(after number: Int64?, limit: Int) async throws -> [NumberedAuditEntry] {
        try await pass("audit") { try await base.audit(after: number, limit: limit) }
    }

    func leaseDueReceipts(at instant: Date, limit: Int, for duration: Duration) async throws -> [ReceiptLease] {
        try await pass("leaseDueReceipts") {
            try await base.leaseDueReceipts(at: instant, limit: limit, for: duration)
        }
    }
    func complete(_ lease: ReceiptLease, with result: RefreshResult, at instant: Date) async throws -> RefreshOutcome {
        try await pass("complete") { try await base.complete(lease, with: result, at: instant) }
    }
    func receipts(of id: KeyIdentifier, limit: Int) async throws -> [StoredReceipt] {
        try await pass("receipts") { try await base.receipts(of: id, limit: limit) }
    }
    func riskMetrics(app: String, environment: String) async throws -> [RiskMetricCount] {
        try await pass("riskMetrics") { try await base.riskMetrics(app: app, environment: environment) }
    }

    func record(_ event: StoreEvent) async throws { try await pass("record") { try await base.record(event) } }
    func history(of id: KeyIdentifier, limit: Int) async throws -> [StoreEvent] {
        try await pass("history") { try await base.history(of: id, limit: limit) }
    }
    func add(_ tallies: [SignalTally]) async throws { try await pass("add") { try await base.add(tallies) } }
    func tallies(app: String, from start: Date, to end: Date) async throws -> [SignalTally] {
        try await pass("tallies") { try await base.tallies(app: app, from: start, to: end) }
    }

    func reserve(
        _ claim: PromotionClaim,
        tokens: PromotionTokens,
        countingGrantsFrom grantStart: Date,
        for duration: Duration,
        at instant: Date
    ) async throws -> PromotionStanding {
        try await pass("reserve") {
            try await base.reserve(
                claim,
                tokens: tokens,
                countingGrantsFrom: grantStart,
                for: duration,
                at: instant
            )
        }
    }
    func note(_ note: String, on reservation: PromotionReservation) async throws -> Bool {
        try await pass("note") { try await base.note(note, on: reservation) }
    }
    func release(_ reservation: PromotionReservation, at instant: Date) async throws {
        try await pass("release") { try await base.release(reservation, at: instant) }
    }
    func answer(_ reservation: PromotionReservation, with answer: PromotionAnswer, at instant: Date) async throws
        -> PromotionSettlement
    {
        try await pass("answer") { try await base.answer(reservation, with: answer, at: instant) }
    }
}
