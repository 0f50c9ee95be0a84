// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import FoundationEssentials
import Vocabulary

@testable import TrustStores

/// What the in-memory store holds; every verb is one method, run under one lock.
struct MemoryState {
    var closed = false
    var secrets: [UTF8Key: [UInt8]] = [:]
    /// Newest first.
    var challengeKeys: [ChallengeKey] = []
    var spent: [[UInt8]: Int64] = [:]
    /// Everything that expired before this instant may have been swept, so nothing that old is spent again.
    var sweptUntil: Int64 = 0
    var keys: [KeyIdentifier: KeyEntry] = [:]
    /// The days of the revocations of deleted keys.
    var tombstones: [[UInt8]: Int64] = [:]
    var events: [StoreEvent] = []
    var tallies: [TallyName: Int] = [:]
    var promotions: [PromotionClaim: PromotionEntry] = [:]
    var holders: [HolderName: HolderEntry] = [:]
    var quotas: [[UInt8]: QuotaWindow] = [:]
    /// Oldest first.
    var audit: [NumberedAuditEntry] = []
    /// The last line of ``audit``.
    var auditEnd = AuditChain(number: 0, hash: nil)
    var witness: ClockWitness

    init(opened: Duration) { witness = ClockWitness(opened: opened) }

    struct KeyEntry {
        var key: StoredKey
        var window: CounterWindow
        /// Oldest first.
        var receipts: [StoredReceipt]
        var nextRefresh: Int64?
        var leasedUntil: Int64 = 0
        var fence: Int64 = 0
        var failures = 0
    }

    struct PromotionEntry {
        var fence: Int64 = 0
        var leasedUntil: Int64 = 0
        var note: String?
        var noteTokens: PromotionTokens?
        var answer: [UInt8]?
        var answeredAt: Date?
    }

    struct HolderEntry {
        var transactionId: UTF8Key
        var leasedUntil: Int64 = 0
        var grantedAt: Int64?

        /// When the subject was granted, if that counts.
        func granted(from start: Int64) -> Date? {
            grantedAt.flatMap { $0 >= start ? StoreTime.date($0) : nil }
        }
    }

    mutating func append(_ event: StoreEvent) {
        var event = event
        event.at = StoreTime.date(StoreTime.milliseconds(event.at))
        event.detail = event.detail.map(StoreText.stored)
        event.code = event.code.map(StoreText.stored)
        events.append(event)
    }

    func standing(of name: SpentName, at instant: Date) -> SpendOutcome {
        if spent[name.bytes] != nil { return .alreadyUsed }
        return name.expiresAt <= max(StoreTime.milliseconds(instant), sweptUntil) ? .expired : .spent
    }

    mutating func spend(_ name: SpentName, at instant: Date) -> SpendOutcome {
        let outcome = standing(of: name, at: instant)
        if outcome == .spent { spent[name.bytes] = name.expiresAt }
        return outcome
    }

    mutating func insert(
        _ registration: KeyRegistration, spending challenge: SpendableChallenge, at instant: Date
    ) -> InsertOutcome {
        if let existing = keys[registration.id] { return registration.outcome(against: existing.key) }
        let name = SpentName(challenge)
        switch standing(of: name, at: instant) {
        case .alreadyUsed: return .refused(.challengeUsed)
        case .expired: return .refused(.challengeExpired)
        case .spent: break
        }
        if tombstones[Tombstone.hash(of: registration.id)] != nil { return .refused(.revoked) }
        let before = quotas
        for draw in registration.draws {
            guard case .exhausted(let until) = self.draw(draw, at: instant) else { continue }
            quotas = before
            return .exhausted(until: until)
        }
        spent[name.bytes] = name.expiresAt
        let key = registration.stored(at: instant)
        keys[key.id] = KeyEntry(
            key: key, window: CounterWindow(highest: 0, seen: 1),
            receipts: [StoredReceipt(keyId: key.id, receipt: registration.receipt, storedAt: key.attestedAt)],
            nextRefresh: registration.refreshAt.map(StoreTime.milliseconds))
        append(StoreEvent(at: instant, app: key.app, keyId: key.id, kind: EventKind.attested))
        return .inserted(key)
    }

    mutating func advance(_ advance: CounterAdvance, at instant: Date) -> AdvanceOutcome {
        let name = SpentName(advance.challenge)
        let before = keys[advance.keyId].map {
            TrustStores.KeyState(window: $0.window, largestGap: $0.key.largestGap, isRevoked: $0.key.revokedAt != nil)
        }
        guard let before else { return .refused(.keyUnknown) }
        switch advance.decision(on: before, spending: standing(of: name, at: instant)) {
        case .failure(let refusal): return .refused(refusal)
        case .success(let after):
            let previous = before.window.highest
            keys[advance.keyId]?.window = after.window
            if let key = keys[advance.keyId]?.key { keys[advance.keyId]?.key = key.advanced(to: after, at: instant) }
            spent[name.bytes] = name.expiresAt
            return .advanced(previous: previous)
        }
    }

    mutating func revoke(_ id: KeyIdentifier, code: String?, at instant: Date) -> RevokeOutcome {
        guard let key = keys[id]?.key else { return .unknown }
        if let before = key.revokedAt { return .alreadyRevoked(before) }
        keys[id]?.key = key.revoked(at: instant)
        keys[id]?.nextRefresh = nil
        append(StoreEvent(at: instant, app: key.app, keyId: id, kind: EventKind.revoked, code: code))
        return .revoked
    }

    mutating func restore(
        _ id: KeyIdentifier, revokedSince start: Date, refreshAt: Date?, at instant: Date
    ) -> RestoreOutcome {
        guard let key = keys[id]?.key else { return .unknown }
        guard let before = key.revokedAt else { return .notRevoked }
        guard StoreTime.milliseconds(before) >= StoreTime.milliseconds(start) else { return .tooLate(before) }
        keys[id]?.key = key.restored(at: instant)
        keys[id]?.nextRefresh = refreshAt.map(StoreTime.milliseconds)
        append(StoreEvent(at: instant, app: key.app, keyId: id, kind: EventKind.restored))
        return .restored
    }
}

/// For whom a promotion is granted once, by its bytes.
struct HolderName: Hashable {
    let promotion: UTF8Key
    let app: UTF8Key
    let subject: UTF8Key

    init(_ claim: PromotionClaim) {
        promotion = UTF8Key(claim.promotion)
        app = UTF8Key(claim.app)
        subject = UTF8Key(claim.subject.text)
    }
}

extension StoredKey {
    func advanced(to state: TrustStores.KeyState, at instant: Date) -> StoredKey {
        var key = self
        key.counter = state.window.highest
        key.largestGap = state.largestGap
        key.lastUsedAt = StoreTime.date(StoreTime.milliseconds(instant))
        return key
    }

    func revoked(at instant: Date) -> StoredKey {
        var key = self
        key.revokedAt = StoreTime.date(StoreTime.milliseconds(instant))
        return key
    }

    func restored(at instant: Date) -> StoredKey {
        var key = self
        key.revokedAt = nil
        key.restoredAt = StoreTime.date(StoreTime.milliseconds(instant))
        return key
    }

    /// With a newer receipt, which expires then.
    func expiring(_ expiry: Date?) -> StoredKey {
        var key = self
        key.receiptExpiresAt = expiry.map { StoreTime.date(StoreTime.milliseconds($0)) }
        return key
    }

    func measured(_ metric: Int) -> StoredKey {
        var key = self
        key.riskMetric = metric
        return key
    }
}

/// The name of one tally, in the order in which tallies are listed, by its bytes as a database compares.
struct TallyName: Hashable, Comparable {
    let app: UTF8Key
    let hour: Int64
    let kind: UTF8Key
    let code: UTF8Key

    init(_ tally: SignalTally) {
        app = UTF8Key(tally.app)
        hour = StoreTime.hour(tally.hour)
        kind = UTF8Key(tally.kind)
        code = UTF8Key(tally.code)
    }

    static func < (left: TallyName, right: TallyName) -> Bool {
        (left.hour, left.kind, left.code) < (right.hour, right.kind, right.code)
    }
}
