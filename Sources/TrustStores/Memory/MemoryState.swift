// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import Foundation

/// What the in-memory store holds; every verb is one method, run under one lock.
struct MemoryState {
    var closed = false
    var secrets: [String: [UInt8]] = [:]
    var spent: [[UInt8]: Int64] = [:]
    /// Everything that expired before this instant may have been swept, so nothing that old is spent again.
    var sweptUntil: Int64 = 0
    var keys: [KeyIdentifier: KeyEntry] = [:]
    var events: [StoreEvent] = []
    var tallies: [TallyName: Int] = [:]
    var promotions: [PromotionClaim: PromotionEntry] = [:]

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
        var answer: [UInt8]?
        var answeredAt: Date?
    }

    mutating func append(_ event: StoreEvent) {
        var event = event
        event.at = StoreTime.date(StoreTime.milliseconds(event.at))
        event.detail = event.detail.map { String($0.prefix(1024)) }
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
        _ registration: KeyRegistration,
        spending challenge: SpendableChallenge,
        at instant: Date
    ) -> InsertOutcome {
        if let existing = keys[registration.id] { return registration.outcome(against: existing.key) }
        switch spend(SpentName(challenge), at: instant) {
        case .alreadyUsed: return .refused(.challengeUsed)
        case .expired: return .refused(.challengeExpired)
        case .spent: break
        }
        let key = registration.stored(at: instant)
        keys[key.id] = KeyEntry(
            key: key,
            window: CounterWindow(highest: 0, seen: 1),
            receipts: [StoredReceipt(keyId: key.id, receipt: registration.receipt, storedAt: key.attestedAt)],
            nextRefresh: registration.refreshAt.map(StoreTime.milliseconds)
        )
        append(StoreEvent(at: instant, app: key.app, keyId: key.id, kind: EventKind.attested))
        return .inserted(key)
    }

    mutating func advance(_ advance: CounterAdvance, at instant: Date) -> AdvanceOutcome {
        guard var entry = keys[advance.keyId] else { return .refused(.keyUnknown) }
        if entry.key.revokedAt != nil { return .refused(.revoked) }
        let name = SpentName(advance.challenge)
        switch standing(of: name, at: instant) {
        case .alreadyUsed: return .refused(.challengeUsed)
        case .expired: return .refused(.challengeExpired)
        case .spent: break
        }
        guard let window = advance.window(after: entry.window) else { return .refused(.replayed) }
        let previous = entry.window.highest
        entry.window = window
        entry.key = entry.key.advanced(to: window.highest, at: instant)
        keys[advance.keyId] = entry
        spent[name.bytes] = name.expiresAt
        return .advanced(previous: previous)
    }

    mutating func revoke(_ id: KeyIdentifier, code: String?, at instant: Date) -> RevokeOutcome {
        guard let key = keys[id]?.key else { return .unknown }
        if let before = key.revokedAt { return .alreadyRevoked(before) }
        keys[id]?.key = key.revoked(at: instant)
        keys[id]?.nextRefresh = nil
        append(StoreEvent(at: instant, app: key.app, keyId: id, kind: EventKind.revoked, code: code))
        return .revoked
    }

    mutating func sweep(at instant: Date, keeping retention: Retention) -> SweepReport {
        let now = StoreTime.milliseconds(instant)
        var report = SweepReport()
        let horizon = now - SpentName.slack
        sweptUntil = max(sweptUntil, horizon)
        report.spent = spent.count
        spent = spent.filter { $0.value > horizon }
        report.spent -= spent.count
        report.events = events.count
        let oldest = StoreTime.date(max(0, now - StoreTime.milliseconds(retention.events)))
        events.removeAll { $0.at < oldest }
        report.events -= events.count
        report.tallies = tallies.count
        tallies = tallies.filter { $0.key.hour >= now - StoreTime.milliseconds(retention.tallies) }
        report.tallies -= tallies.count
        let receiptEdge = StoreTime.date(max(0, now - StoreTime.milliseconds(retention.receipts)))
        for id in keys.keys {
            guard let receipts = keys[id]?.receipts, receipts.count > 1 else { continue }
            let kept = receipts.dropLast().filter { $0.storedAt >= receiptEdge } + receipts.suffix(1)
            report.receipts += receipts.count - kept.count
            keys[id]?.receipts = kept
        }
        report.promotionAnswers = promotions.count
        let answerEdge = StoreTime.date(max(0, now - StoreTime.milliseconds(retention.promotionAnswers)))
        promotions = promotions.filter { $0.value.answeredAt.map { $0 >= answerEdge } ?? true }
        report.promotionAnswers -= promotions.count
        return report
    }
}

/// The name of one tally, in the order in which tallies are listed.
struct TallyName: Hashable, Comparable {
    let app: String
    let hour: Int64
    let kind: String
    let code: String

    init(_ tally: SignalTally) {
        app = tally.app
        hour = StoreTime.hour(tally.hour)
        kind = tally.kind
        code = tally.code
    }

    static func < (left: TallyName, right: TallyName) -> Bool {
        (left.hour, left.kind, left.code) < (right.hour, right.kind, right.code)
    }
}
