// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import FoundationEssentials
import Vocabulary

extension SQLTrustStore {
    package func reserve(
        _ claim: PromotionClaim, tokens: PromotionTokens, countingGrantsFrom grantStart: Date, for duration: Duration,
        at instant: Date
    ) async throws -> PromotionStanding {
        let now = StoreTime.milliseconds(instant)
        let until = now + StoreTime.milliseconds(duration)
        let grantsFrom = StoreTime.milliseconds(grantStart)
        return try await transact { session in
            let holder = try session.holder(of: claim)
            let row = try session.locked(Text.insert, Text.select, of: claim)
            if let answer = try row.optionalBytes(3) { return .rollback(.answered(answer)) }
            if let holder {
                if let granted = holder.granted(from: grantsFrom) { return .rollback(.alreadyGranted(granted)) }
                if holder.leasedUntil > now, !holder.transactionId.hasSameBytes(as: claim.transactionId) {
                    return .rollback(.pending(until: StoreTime.date(holder.leasedUntil)))
                }
            }
            let leasedUntil = try row.integer(0)
            if leasedUntil > now { return .rollback(.pending(until: StoreTime.date(leasedUntil))) }
            let fence = try row.integer(1) + 1
            let isSame = try row.optionalBytes(4) == tokens.digest
            try session.run(Text.reserve, of: claim, .integer(until), .integer(fence))
            if holder != nil { try session.run(Text.hold, of: claim, .integer(until)) }
            return .commit(
                .reserved(
                    PromotionReservation(
                        claim: claim, note: isSame ? try row.optionalText(2) : nil, fence: fence, tokens: tokens,
                        grantsFrom: grantsFrom)))
        }
    }

    package func note(_ note: String, on reservation: PromotionReservation) async throws -> Bool {
        try await transact { session in
            guard try session.isHeld(reservation) else { return .rollback(false) }
            let result = try session.run(
                Text.note, of: reservation.claim, .integer(reservation.fence), .text(StoreText.stored(note)),
                .bytes(reservation.tokens.digest))
            return .commit(result.changes == 1)
        }
    }

    package func release(_ reservation: PromotionReservation, at instant: Date) async throws {
        let claim = reservation.claim
        try await transact { session in
            guard try session.isHeld(reservation) else { return .rollback(()) }
            let result = try session.run(Text.release, of: claim, .integer(reservation.fence), .instant(instant))
            guard result.changes == 1 else { return .rollback(()) }
            try session.letGo(of: claim, at: instant)
            return .commit(())
        }
    }

    package func answer(
        _ reservation: PromotionReservation, with answer: PromotionAnswer, at instant: Date
    ) async throws -> PromotionSettlement {
        let claim = reservation.claim
        let now = StoreTime.milliseconds(instant)
        return try await transact { session in
            let holder = try session.holder(of: claim)
            let row = try session.locked(Text.insert, Text.select, of: claim)
            if let standing = try row.optionalBytes(3) { return .rollback(.answered(standing)) }
            if answer.isGranted, let granted = holder?.granted(from: reservation.grantsFrom) {
                return .rollback(.alreadyGranted(granted))
            }
            try session.run(Text.answer, of: claim, .bytes(answer.bytes), .integer(now))
            if holder != nil {
                if answer.isGranted {
                    try session.run(Text.grant, of: claim, .integer(now))
                } else {
                    try session.letGo(of: claim, at: instant)
                }
            }
            return .commit(.answered(answer.bytes))
        }
    }

    /// Statements of this file. `$1` to `$4` name the claim; the holder of a subject is always locked before the claim.
    fileprivate enum Text {
        static let named = "promotion = $1 AND app = $2 AND subject = $3 AND transaction_id = $4"
        static let subject = "promotion = $1 AND app = $2 AND subject = $3"
        static let insert: SQLText = """
            INSERT INTO promotion_claims (promotion, app, subject, transaction_id, leased_until, fence)
            VALUES ($1, $2, $3, $4, 0, 0) ON CONFLICT DO NOTHING
            """
        static let select = SQLText(
            "SELECT leased_until, fence, note, answer, note_tokens FROM promotion_claims WHERE \(named) {lock}")
        static let reserve = SQLText("UPDATE promotion_claims SET leased_until = $5, fence = $6 WHERE \(named)")
        static let note = SQLText(
            "UPDATE promotion_claims SET note = $6, note_tokens = $7 WHERE \(named) AND fence = $5 AND answer IS NULL")
        static let release = SQLText(
            """
            UPDATE promotion_claims SET leased_until = $6, note = NULL, note_tokens = NULL
            WHERE \(named) AND fence = $5 AND answer IS NULL
            """
        )
        static let answer = SQLText(
            """
            UPDATE promotion_claims SET answer = $5, answered_at = $6, note = NULL, note_tokens = NULL
            WHERE \(named) AND answer IS NULL
            """
        )
        static let insertHolder: SQLText = """
            INSERT INTO promotion_holders (promotion, app, subject, transaction_id, leased_until)
            VALUES ($1, $2, $3, $4, 0) ON CONFLICT DO NOTHING
            """
        static let selectHolder = SQLText(
            "SELECT transaction_id, leased_until, granted_at FROM promotion_holders WHERE \(subject) {lock}")
        static let hold = SQLText(
            "UPDATE promotion_holders SET transaction_id = $4, leased_until = $5 WHERE \(subject)")
        static let grant = SQLText(
            "UPDATE promotion_holders SET transaction_id = $4, leased_until = 0, granted_at = $5 WHERE \(subject)")
        static let letGo = SQLText("UPDATE promotion_holders SET leased_until = $5 WHERE \(named)")
    }
}

/// Who decides a claim of a limited subject.
private struct PromotionHolder {
    let transactionId: String
    let leasedUntil: Int64
    let grantedAt: Int64?

    /// When the subject was granted, if that counts.
    func granted(from start: Int64) -> Date? {
        grantedAt.flatMap { $0 >= start ? StoreTime.date($0) : nil }
    }
}

extension SQLSession {
    @discardableResult
    fileprivate func run(_ text: SQLText, of claim: PromotionClaim, _ arguments: SQLValue...) throws -> SQLResult {
        try run(text, claim.arguments + arguments)
    }

    /// Makes a row unless it is there, and locks it. A sweep of another node may take it away in between: then it is made again.
    fileprivate func locked(
        _ insert: SQLText, _ select: SQLText, of claim: PromotionClaim, parts: Int = 4
    ) throws -> SQLRow {
        for _ in 0..<3 {
            try run(insert, claim.arguments)
            if let row = try run(select, Array(claim.arguments.prefix(parts))).rows.first { return row }
        }
        throw StoreFault.unavailable("a promotion's row keeps being removed")
    }

    /// Locks the holder of a limited subject up to the end of the transaction; nil for a subject without limit.
    fileprivate func holder(of claim: PromotionClaim) throws -> PromotionHolder? {
        guard claim.subject.isLimited else { return nil }
        let row = try locked(
            SQLTrustStore.Text.insertHolder, SQLTrustStore.Text.selectHolder, of: claim, parts: 3)
        return PromotionHolder(
            transactionId: try row.text(0), leasedUntil: try row.integer(1), grantedAt: try row.optionalInteger(2))
    }

    /// Whether no other transaction of the subject has taken over.
    fileprivate func isHeld(_ reservation: PromotionReservation) throws -> Bool {
        guard let holder = try holder(of: reservation.claim) else { return true }
        return holder.granted(from: reservation.grantsFrom) == nil
            && holder.transactionId.hasSameBytes(as: reservation.claim.transactionId)
    }

    /// Lets the next claim of the subject have its turn.
    fileprivate func letGo(of claim: PromotionClaim, at instant: Date) throws {
        guard claim.subject.isLimited else { return }
        try run(SQLTrustStore.Text.letGo, of: claim, .instant(instant))
    }
}

extension PromotionClaim {
    var arguments: [SQLValue] { [.text(promotion), .text(app), .text(subject.text), .text(transactionId)] }
}
