// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import FoundationEssentials

extension SQLTrustStore {
    package func sweep(at instant: Date, keeping retention: Retention) async throws -> SweepReport {
        var report = SweepReport()
        let now: Int64
        let horizon: Int64
        // Committed before anything goes, so that no node spends again what is about to be forgotten.
        let (standing, limit) = try await raiseHorizon(at: instant)
        switch limit {
        case .nothingStored: return report
        case .refused(let fault):
            report.clockFault = fault
            return report
        case .upTo(let edge, let names): (now, horizon) = (edge, names)
        }
        report.clockFault = standing.horizonFault(at: now)
        let rows = max(1, retention.rowsAtOnce)
        /// Deletes rows that `old` is true of, in its order. Its last argument is the edge, and what it names before that.
        func delete(
            _ table: String, _ key: String, _ old: String, of name: SQLValue..., upTo edge: Int64
        ) async throws -> Int {
            let rest = "SELECT \(key) FROM \(table) WHERE \(old) LIMIT $\(name.count + 2)"
            let text = SQLText("DELETE FROM \(table) WHERE (\(key)) IN (\(rest))")
            let count = try await transact { session in
                .commit(try session.run(text, name + [.integer(edge), .integer(Int64(rows))]).changes)
            }
            if count == rows { report.more = true }
            return count
        }
        func edge(_ duration: Duration) -> Int64 { max(0, now - StoreTime.milliseconds(duration)) }
        let (claim, subject) = ("promotion, app, subject, transaction_id", "promotion, app, subject")
        report.spent = try await delete(
            "spent_names", "expires_at, name", "expires_at <= $1 ORDER BY expires_at", upTo: horizon)
        report.events = try await delete("key_events", "id", "at < $1 ORDER BY at", upTo: edge(retention.events))
        report.tallies = try await delete(
            "hourly_tallies", "app, hour, kind, code", "hour < $1", upTo: edge(retention.tallies))
        report.receipts = try await delete(
            "key_receipts", "key_id, created_at", "superseded_at IS NOT NULL AND stored_at < $1 ORDER BY stored_at",
            upTo: edge(retention.receipts))
        report.promotionAnswers = try await delete(
            "promotion_claims", claim, "answered_at < $1 ORDER BY answered_at", upTo: edge(retention.promotionAnswers))
        report.openClaims = try await delete(
            "promotion_claims", claim, "answered_at IS NULL AND leased_until < $1 ORDER BY leased_until",
            upTo: edge(retention.openClaims))
        report.openClaims += try await delete(
            "promotion_holders", subject, "granted_at IS NULL AND leased_until < $1 ORDER BY leased_until",
            upTo: edge(retention.openClaims))
        // The caller's clock may be ahead of the one that the store believes.
        let ahead = max(0, StoreTime.milliseconds(instant) - now)
        for (promotion, start) in retention.promotionGrants.sorted(by: { $0.key < $1.key }) {
            report.promotionGrants += try await delete(
                "promotion_holders", subject,
                "granted_at IS NOT NULL AND promotion = $1 AND granted_at < $2 ORDER BY granted_at",
                of: .text(promotion), upTo: StoreTime.milliseconds(start) - ahead)
        }
        report.quotas = try await delete(
            "quota_windows", "name", "ends_at < $1 ORDER BY ends_at", upTo: edge(.milliseconds(QuotaDraw.slack)))
        report.audit = try await sweepAudit(olderThan: edge(retention.audit), atMost: rows)
        if report.audit == rows { report.more = true }
        report.tombstones = try await delete(
            "key_tombstones", "name", "revoked_on < $1 ORDER BY revoked_on", upTo: edge(retention.tombstones))
        report.tombstones += try await delete(
            "key_tombstones", "name", "revoked_on < $1 AND length(name) = \(Tombstone.markLength) ORDER BY revoked_on",
            upTo: edge(Tombstone.markLife))
        return report
    }

    @discardableResult
    package func check() async throws -> StoreReading {
        try await transact { session in
            let changes = try session.run("UPDATE store_checks SET count = count + 1 WHERE one = 1").changes
            try require(schema: session.row(Text.schema)?.integer(0) ?? 0)
            guard changes == 1 else { throw StoreFault.damaged("the row that checks update is missing") }
            return .commit(try reading(session.row(Text.clock)))
        }
    }

    package func settleClock(at instant: Date) async throws -> StoreReading {
        let claimed = StoreTime.milliseconds(instant)
        return try await transact { session in
            let before = try reading(session.row(Text.lockedClock))
            let now = before.time.map(StoreTime.milliseconds) ?? claimed
            let stored = StoreTime.milliseconds(before.sweptUntil)
            let horizon = min(max(stored, now - SpentName.slack), now)
            try session.run(Text.setHorizon, .integer(max(0, horizon)))
            return .commit(StoreReading(time: before.time, sweptUntil: StoreTime.date(horizon)))
        }
    }

    package func inspect(at instant: Date) async throws -> StoreInspection {
        let claimed = StoreTime.milliseconds(instant)
        var inspection = try await read { session in
            let version = Int(try session.row(Text.schema)?.integer(0) ?? 0)
            try require(schema: Int64(version))
            let reading = try reading(session.row(Text.clock))
            var fault = reading.horizonFault(at: claimed)
            // A copy, so that looking changes nothing.
            var witness = witness.withWitness { $0 }
            let limit = witness.limit(
                claimed: claimed, sweptUntil: StoreTime.milliseconds(reading.sweptUntil),
                server: reading.time.map(StoreTime.milliseconds), oldest: try oldest(in: session),
                uptime: clock.uptime())
            if fault == nil, case .refused(let refusal) = limit { fault = refusal }
            var problems = try session.run(Text.integrity).rows.compactMap { row in
                let text = try row.text(0)
                return text == "ok" ? nil : text
            }
            let orphans = try session.run(Text.keysWithoutReceipt).rows
            problems += try orphans.map {
                "key \(Data(try $0.bytes(0).prefix(6)).base64EncodedString()) has no receipt"
            }
            return StoreInspection(
                schema: version, expectedSchema: schema, reading: reading, clockFault: fault,
                newestExpiry: try session.row(Text.newestExpiry)?.optionalInteger(0).map(StoreTime.date),
                keys: Int(try session.row("SELECT count(*) FROM attested_keys")?.integer(0) ?? 0),
                problems: Array(problems.prefix(20)))
        }
        if let problem = try await auditProblem() { inspection.problems.append(problem) }
        return inspection
    }

    /// Raises the horizon as far as the clock can be believed, in one transaction with the look at the store's own clock.
    private func raiseHorizon(at instant: Date) async throws -> (StoreReading, SweepLimit) {
        let claimed = StoreTime.milliseconds(instant)
        return try await transact { session in
            let reading = try reading(session.row(Text.lockedClock))
            let stored = StoreTime.milliseconds(reading.sweptUntil)
            let oldest = stored == 0 && reading.time == nil ? try oldest(in: session) : nil
            let uptime = clock.uptime()
            let limit = witness.withWitness {
                $0.limit(
                    claimed: claimed, sweptUntil: stored, server: reading.time.map(StoreTime.milliseconds),
                    oldest: oldest, uptime: uptime)
            }
            if case .upTo(_, let horizon) = limit, horizon > stored {
                try session.run(Text.setHorizon, .integer(horizon))
                return .commit((reading, limit))
            }
            return .rollback((reading, limit))
        }
    }

    private func reading(_ row: SQLRow?) throws -> StoreReading {
        guard let row else { throw StoreFault.damaged("the row of the clock is missing") }
        let own = try row.optionalInteger(1)
        return StoreReading(time: clock.server.map { $0() } ?? own.map(StoreTime.date), sweptUntil: try row.date(0))
    }

    private func require(schema found: Int64) throws {
        guard found == Int64(schema) else {
            throw StoreFault(
                code: .storeNewer,
                reason: "the store has schema \(found), this program writes \(schema); use the matching version")
        }
    }

    /// The oldest exact instant in the store: where time was when the store was begun. The hour of a tally is none: it began up to an hour before.
    private func oldest(in session: any SQLSession) throws -> Int64? {
        try Text.oldest.compactMap { try session.row($0)?.optionalInteger(0) }.min()
    }

    /// Statements of this file. Those that sweep delete what lies before `$1`, at most `$2` rows.
    private enum Text {
        static let schema: SQLText = "SELECT max(version) FROM schema_versions"
        static let clock: SQLText = "SELECT swept_until, {now} FROM store_clock WHERE one = 1"
        static let lockedClock: SQLText = "SELECT swept_until, {now} FROM store_clock WHERE one = 1 {lock}"
        static let setHorizon: SQLText = "UPDATE store_clock SET swept_until = $1 WHERE one = 1"
        static let oldest: [SQLText] = [
            "SELECT min(expires_at) FROM spent_names", "SELECT min(at) FROM key_events",
        ]
        static let newestExpiry: SQLText = "SELECT max(expires_at) FROM spent_names"
        // A quick check does not compare indexes with their tables, and a key that an index lacks is unknown.
        static let integrity = SQLText(sqlite: "PRAGMA integrity_check(20)", postgres: "SELECT 'ok'")
        static let keysWithoutReceipt: SQLText = """
            SELECT id FROM attested_keys WHERE NOT EXISTS (SELECT 1 FROM key_receipts WHERE key_id = attested_keys.id)
            LIMIT 20
            """
    }
}

extension StoreReading {
    /// A horizon that is ahead of now; whatever is wrong refuses everything that expires before it.
    func horizonFault(at now: Int64) -> ClockFault? {
        let lead = horizonLead(at: StoreTime.date(now))
        return lead > .zero ? .horizonAhead(lead) : nil
    }
}
