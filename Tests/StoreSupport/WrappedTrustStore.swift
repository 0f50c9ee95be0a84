// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import AppAttest
package import Foundation
package import TrustStores

/// A store with something around every verb, and nothing else: it keeps the promises of the store inside.
package struct WrappedTrustStore<Wrapper: StoreVerbWrapper>: TrustStore {
    /// The store that answers.
    package let base: any TrustStore
    /// What stands around its verbs.
    package let wrapper: Wrapper

    package init(_ base: any TrustStore, in wrapper: Wrapper) {
        self.base = base
        self.wrapper = wrapper
    }

    package func secret(named name: String, orElse candidate: [UInt8]) async throws -> [UInt8] {
        try await wrapper.run("secret") { try await base.secret(named: name, orElse: candidate) }
    }
    package func replaceSecret(named name: String, by secret: [UInt8]) async throws -> Bool {
        try await wrapper.run("replaceSecret") { try await base.replaceSecret(named: name, by: secret) }
    }
    package func secretsMark() async throws -> [UInt8] {
        try await wrapper.run("secretsMark") { try await base.secretsMark() }
    }
    package func check() async throws -> StoreReading { try await wrapper.run("check") { try await base.check() } }
    package func inspect(at instant: Date) async throws -> StoreInspection {
        try await wrapper.run("inspect") { try await base.inspect(at: instant) }
    }
    package func settleClock(at instant: Date) async throws -> StoreReading {
        try await wrapper.run("settleClock") { try await base.settleClock(at: instant) }
    }
    package func sweep(at instant: Date, keeping retention: Retention) async throws -> SweepReport {
        try await wrapper.run("sweep") { try await base.sweep(at: instant, keeping: retention) }
    }
    package func close() async { await base.close() }

    package func challengeKeys(orElse candidate: [UInt8], at instant: Date) async throws -> [ChallengeKey] {
        try await wrapper.run("challengeKeys") { try await base.challengeKeys(orElse: candidate, at: instant) }
    }
    package func rotateChallengeKey(_ rotation: ChallengeKeyRotation, at instant: Date) async throws -> RotationOutcome
    {
        try await wrapper.run("rotateChallengeKey") { try await base.rotateChallengeKey(rotation, at: instant) }
    }

    package func draw(_ draw: QuotaDraw, at instant: Date) async throws -> QuotaOutcome {
        try await wrapper.run("draw") { try await base.draw(draw, at: instant) }
    }
    package func consume(_ token: SingleUseToken, at instant: Date) async throws -> SpendOutcome {
        try await wrapper.run("consume") { try await base.consume(token, at: instant) }
    }

    package func insert(
        _ registration: KeyRegistration, spending challenge: SpendableChallenge, at instant: Date
    )
        async throws
        -> InsertOutcome
    {
        try await wrapper.run("insert") { try await base.insert(registration, spending: challenge, at: instant) }
    }
    package func key(_ id: KeyIdentifier) async throws -> StoredKey? {
        try await wrapper.run("key") { try await base.key(id) }
    }
    package func attestationStanding(
        of id: KeyIdentifier, challenge: SpendableChallenge
    ) async throws -> (key: StoredKey?, isSpent: Bool) {
        try await wrapper.run("attestationStanding") {
            try await base.attestationStanding(of: id, challenge: challenge)
        }
    }
    package func advance(_ advance: CounterAdvance, at instant: Date) async throws -> AdvanceOutcome {
        try await wrapper.run("advance") { try await base.advance(advance, at: instant) }
    }
    package func revoke(_ id: KeyIdentifier, code: String?, at instant: Date) async throws -> RevokeOutcome {
        try await wrapper.run("revoke") { try await base.revoke(id, code: code, at: instant) }
    }
    package func restore(
        _ id: KeyIdentifier, revokedSince start: Date, refreshAt: Date?, at instant: Date
    ) async throws -> RestoreOutcome {
        try await wrapper.run("restore") {
            try await base.restore(id, revokedSince: start, refreshAt: refreshAt, at: instant)
        }
    }
    package func keyCount(ofUser user: String, app: String, since instant: Date) async throws -> Int {
        try await wrapper.run("keyCount") { try await base.keyCount(ofUser: user, app: app, since: instant) }
    }

    package func keys(matching filter: KeyFilter, after cursor: KeyCursor?, limit: Int) async throws -> KeyPage {
        try await wrapper.run("keys") { try await base.keys(matching: filter, after: cursor, limit: limit) }
    }
    package func keyCounts() async throws -> [KeyCount] {
        try await wrapper.run("keyCounts") { try await base.keyCounts() }
    }
    package func revokedKeys(since instant: Date, limit: Int) async throws -> RevokedKeys {
        try await wrapper.run("revokedKeys") { try await base.revokedKeys(since: instant, limit: limit) }
    }
    package func deleteKey(_ id: KeyIdentifier) async throws -> Bool {
        try await wrapper.run("deleteKey") { try await base.deleteKey(id) }
    }
    package func deleteKeys(ofUser user: String, app: String?) async throws -> Int {
        try await wrapper.run("deleteKeys") { try await base.deleteKeys(ofUser: user, app: app) }
    }
    package func revokeKeys(
        of app: String, matching rule: RevocationRule, bound: RevocationBound, code: String?, at instant: Date
    ) async throws -> RevocationResult {
        try await wrapper.run("revokeKeys") {
            try await base.revokeKeys(of: app, matching: rule, bound: bound, code: code, at: instant)
        }
    }

    package func append(_ entries: [AuditEntry]) async throws {
        try await wrapper.run("append") { try await base.append(entries) }
    }
    package func audit(after number: Int64?, limit: Int) async throws -> [NumberedAuditEntry] {
        try await wrapper.run("audit") { try await base.audit(after: number, limit: limit) }
    }
    package func newestAuditNumber() async throws -> Int64 {
        try await wrapper.run("newestAuditNumber") { try await base.newestAuditNumber() }
    }

    package func leaseDueReceipts(at instant: Date, limit: Int, for duration: Duration) async throws -> [ReceiptLease] {
        try await wrapper.run("leaseDueReceipts") {
            try await base.leaseDueReceipts(at: instant, limit: limit, for: duration)
        }
    }
    package func complete(
        _ lease: ReceiptLease, with result: RefreshResult, at instant: Date
    ) async throws
        -> RefreshOutcome
    {
        try await wrapper.run("complete") { try await base.complete(lease, with: result, at: instant) }
    }
    package func receipts(of id: KeyIdentifier, limit: Int) async throws -> [StoredReceipt] {
        try await wrapper.run("receipts") { try await base.receipts(of: id, limit: limit) }
    }
    package func riskMetrics(app: String, environment: String) async throws -> [(metric: Int, keys: Int)] {
        try await wrapper.run("riskMetrics") { try await base.riskMetrics(app: app, environment: environment) }
    }

    package func record(_ event: StoreEvent) async throws {
        try await wrapper.run("record") { try await base.record(event) }
    }
    package func history(of id: KeyIdentifier, limit: Int) async throws -> [StoreEvent] {
        try await wrapper.run("history") { try await base.history(of: id, limit: limit) }
    }
    package func add(_ tallies: [SignalTally]) async throws {
        try await wrapper.run("add") { try await base.add(tallies) }
    }
    package func tallies(app: String, from start: Date, to end: Date) async throws -> [SignalTally] {
        try await wrapper.run("tallies") { try await base.tallies(app: app, from: start, to: end) }
    }

    package func reserve(
        _ claim: PromotionClaim, tokens: PromotionTokens, countingGrantsFrom grantStart: Date, for duration: Duration,
        at instant: Date
    ) async throws -> PromotionStanding {
        try await wrapper.run("reserve") {
            try await base.reserve(claim, tokens: tokens, countingGrantsFrom: grantStart, for: duration, at: instant)
        }
    }
    package func note(_ note: String, on reservation: PromotionReservation) async throws -> Bool {
        try await wrapper.run("note") { try await base.note(note, on: reservation) }
    }
    package func release(_ reservation: PromotionReservation, at instant: Date) async throws {
        try await wrapper.run("release") { try await base.release(reservation, at: instant) }
    }
    package func answer(
        _ reservation: PromotionReservation, with answer: PromotionAnswer, at instant: Date
    )
        async throws
        -> PromotionSettlement
    {
        try await wrapper.run("answer") { try await base.answer(reservation, with: answer, at: instant) }
    }
}
