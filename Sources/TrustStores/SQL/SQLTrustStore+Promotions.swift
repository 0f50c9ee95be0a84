// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

public import Foundation

extension SQLTrustStore {
    public func reserve(
        _ claim: PromotionClaim,
        for duration: Duration,
        at instant: Date
    ) async throws -> PromotionStanding {
        let now = StoreTime.milliseconds(instant)
        let until = now + StoreTime.milliseconds(duration)
        return try await engine.transact { session in
            let results = try session.run([
                SQLStatement(Text.insert, arguments: claim.arguments),
                SQLStatement(Text.select, arguments: claim.arguments),
            ])
            guard let row = results.last?.rows.first else { throw StoreFault.damaged("a promotion vanished") }
            if let answer = try row.optionalBytes(3) { return .rollback(.answered(answer)) }
            let leasedUntil = try row.integer(0)
            if leasedUntil > now { return .rollback(.pending(until: StoreTime.date(leasedUntil))) }
            let fence = try row.integer(1) + 1
            try _ = session.run([
                SQLStatement(Text.reserve, arguments: claim.arguments + [.integer(until), .integer(fence)])
            ])
            return .commit(.reserved(PromotionReservation(claim: claim, note: try row.optionalText(2), fence: fence)))
        }
    }

    public func note(_ note: String, on reservation: PromotionReservation) async throws -> Bool {
        let arguments = reservation.claim.arguments + [.integer(reservation.fence), .text(note)]
        return try await engine.transact { session in
            .commit(try session.run([SQLStatement(Text.note, arguments: arguments)])[0].changes == 1)
        }
    }

    public func answer(
        _ reservation: PromotionReservation,
        with answer: [UInt8],
        at instant: Date
    ) async throws -> [UInt8] {
        let claim = reservation.claim
        let arguments = claim.arguments + [.bytes(answer), .integer(StoreTime.milliseconds(instant))]
        return try await engine.transact { session in
            let results = try session.run([
                SQLStatement(Text.answer, arguments: arguments), SQLStatement(Text.select, arguments: claim.arguments),
            ])
            guard let row = results.last?.rows.first else { throw StoreFault.damaged("a promotion vanished") }
            return .commit(try row.bytes(3))
        }
    }

    /// Statements of this file. `$1` to `$4` name the claim.
    private enum Text {
        static let named = "promotion = $1 AND app = $2 AND subject = $3 AND transaction_id = $4"
        static let insert: SQLText = """
            INSERT INTO promotions (promotion, app, subject, transaction_id, leased_until, fence)
            VALUES ($1, $2, $3, $4, 0, 0) ON CONFLICT DO NOTHING
            """
        static let select = SQLText("SELECT leased_until, fence, note, answer FROM promotions WHERE \(named) {lock}")
        static let reserve = SQLText("UPDATE promotions SET leased_until = $5, fence = $6 WHERE \(named)")
        static let note = SQLText("UPDATE promotions SET note = $6 WHERE \(named) AND fence = $5 AND answer IS NULL")
        static let answer = SQLText(
            "UPDATE promotions SET answer = $5, answered_at = $6 WHERE \(named) AND answer IS NULL"
        )
    }
}

extension PromotionClaim {
    var arguments: [SQLValue] { [.text(promotion), .text(app), .text(subject), .text(transactionId)] }
}
