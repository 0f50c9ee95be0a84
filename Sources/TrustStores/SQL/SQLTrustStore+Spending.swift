// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import FoundationEssentials

extension SQLTrustStore {
    package func consume(_ token: SingleUseToken, at instant: Date) async throws -> SpendOutcome {
        let name = SpentName(token)
        return try await transact { session in
            let outcome = try session.spend(name, at: instant)
            return outcome == .spent ? .commit(outcome) : .rollback(outcome)
        }
    }

    package func draw(_ draw: QuotaDraw, at instant: Date) async throws -> QuotaOutcome {
        try await transact { session in
            let outcome = try session.draw(draw, at: instant)
            if case .exhausted = outcome { return .rollback(outcome) }
            return .commit(outcome)
        }
    }
}

extension SQLSession {
    /// Spends the name in the transaction that is open, unless it may have been swept; what is not spent changed nothing.
    func spend(_ name: SpentName, at instant: Date) throws -> SpendOutcome {
        let arguments: [SQLValue] = [.integer(name.expiresAt), .bytes(name.bytes)]
        if name.expiresAt > StoreTime.milliseconds(instant), try run(SpentText.spend, arguments).changes == 1 {
            return .spent
        }
        return try run(SpentText.find, arguments).rows.isEmpty ? .expired : .alreadyUsed
    }

    /// Counts a draw in the transaction that is open; an exhausted one changed nothing.
    func draw(_ draw: QuotaDraw, at instant: Date) throws -> QuotaOutcome {
        let now = StoreTime.milliseconds(instant)
        let end = draw.end(from: now)
        let changes = try run(
            QuotaText.count, .bytes(draw.name), .integer(now), .integer(end), .integer(Int64(draw.cost)),
            .integer(Int64(draw.limit - draw.cost)), .integer(end + QuotaDraw.slack)
        ).changes
        guard let row = try row(QuotaText.find, .bytes(draw.name)) else {
            throw StoreFault.damaged("a quota that was counted is missing")
        }
        let until = try row.date(0)
        guard changes == 1 else { return .exhausted(until: until) }
        return .drawn(remaining: max(0, draw.limit - Int(try row.integer(1))), until: until)
    }
}

private enum SpentText {
    static let find: SQLText = "SELECT 1 FROM spent_names WHERE expires_at = $1 AND name = $2"
    static let spend: SQLText = """
        INSERT INTO spent_names (expires_at, name)
        SELECT $1, $2 WHERE $1 > (SELECT swept_until FROM store_clock WHERE one = 1) ON CONFLICT DO NOTHING
        """
}

private enum QuotaText {
    /// Changes one row if the draw fits, none if it does not. `$2` is now, `$3` the end of a window that begins now, `$4` the cost, `$5` how
    /// much may have been used before, and a window that ends after `$6` comes from a wrong clock.
    static let count: SQLText = """
        INSERT INTO quota_windows (name, ends_at, used) VALUES ($1, $3, $4)
        ON CONFLICT (name) DO UPDATE SET
        used = CASE WHEN quota_windows.ends_at <= $2 OR quota_windows.ends_at > $6 THEN $4 ELSE quota_windows.used + $4 END,
        ends_at = CASE WHEN quota_windows.ends_at <= $2 OR quota_windows.ends_at > $6 THEN $3 ELSE quota_windows.ends_at END
        WHERE quota_windows.ends_at <= $2 OR quota_windows.ends_at > $6 OR quota_windows.used <= $5
        """

    static let find: SQLText = "SELECT ends_at, used FROM quota_windows WHERE name = $1"
}
