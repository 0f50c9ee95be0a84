// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import AppAttest
package import FoundationEssentials

extension SQLTrustStore {
    package func leaseDueReceipts(at instant: Date, limit: Int, for duration: Duration) async throws -> [ReceiptLease] {
        let now = StoreTime.milliseconds(instant)
        let until = now + StoreTime.milliseconds(duration)
        let limit = Int64(min(max(0, limit), 1000))
        return try await transact { session in
            let due = try session.run(Text.due, .integer(now), .integer(limit)).rows
            if due.isEmpty { return .rollback([]) }
            let leases = try due.map { row in
                let key = try StoredKey(row: row)
                try session.run(Text.lease, .bytes(key.id.bytes), .integer(until))
                guard let newest = try session.row(Text.receipts, .bytes(key.id.bytes), .integer(1)) else {
                    throw StoreFault.damaged("a key has no receipt")
                }
                return ReceiptLease(
                    key: key, receipt: try ReceiptRecord(row: newest),
                    failures: Int(try row.integer(StoredKey.columnCount)), until: StoreTime.date(until),
                    fence: try row.integer(StoredKey.columnCount + 1) + 1)
            }
            return .commit(leases)
        }
    }

    package func complete(
        _ lease: ReceiptLease, with result: RefreshResult, at instant: Date
    ) async throws -> RefreshOutcome {
        let id = SQLValue.bytes(lease.key.id.bytes)
        return try await transact { session in
            guard let row = try session.row(Text.schedule, id), try row.integer(0) == lease.fence,
                try row.optionalInteger(1) != nil, let newest = try session.row(Text.receipts, id, .integer(1))
            else { return .rollback(.lost) }
            var failures = try row.integer(2)
            var next: Int64?
            var outcome = RefreshOutcome.rescheduled
            switch result {
            case .receipt(let record, let instantOfNext):
                next = StoreTime.milliseconds(instantOfNext)
                failures = 0
                outcome = record.standing(after: try ReceiptRecord(row: newest))
                if outcome == .stored {
                    try session.run(Text.supersede, id, .instant(instant))
                    try session.insert(record, of: lease.key.id, at: instant)
                    if let metric = record.riskMetric { try session.run(Text.measure, id, .integer(Int64(metric))) }
                }
            case .later(let instantOfNext, let code):
                next = StoreTime.milliseconds(instantOfNext)
                failures = code == nil ? 0 : failures + 1
            case .stop: break
            }
            try session.run(Text.finish, id, .optional(next), .integer(failures))
            if let event = result.event(for: lease, outcome: outcome, at: instant) { try session.insert(event) }
            return .commit(outcome)
        }
    }

    package func receipts(of id: KeyIdentifier, limit: Int) async throws -> [StoredReceipt] {
        try await read { session in
            try session.run(Text.receipts, .bytes(id.bytes), .integer(Int64(min(max(0, limit), 1000)))).rows.map {
                row in
                StoredReceipt(keyId: id, receipt: try ReceiptRecord(row: row), storedAt: try row.date(5))
            }
        }
    }

    package func riskMetrics(app: String, environment: String) async throws -> [(metric: Int, keys: Int)] {
        try await read { session in
            try session.run(Text.metrics, .text(app), .text(environment)).rows.map { row in
                (metric: Int(try row.integer(0)), keys: Int(try row.integer(1)))
            }
        }
    }

    private enum Text {
        static let due = SQLText(
            """
            SELECT \(StoredKey.columns), failures, fence FROM attested_keys
            WHERE next_refresh <= $1 AND leased_until <= $1 ORDER BY next_refresh, id LIMIT $2 {skip}
            """
        )
        static let lease: SQLText = "UPDATE attested_keys SET leased_until = $2, fence = fence + 1 WHERE id = $1"
        static let schedule: SQLText = "SELECT fence, next_refresh, failures FROM attested_keys WHERE id = $1 {lock}"
        static let receipts: SQLText = """
            SELECT bytes, created_at, not_before, expires_at, risk_metric, stored_at FROM key_receipts WHERE key_id = $1
            ORDER BY created_at DESC LIMIT $2
            """
        static let supersede: SQLText =
            "UPDATE key_receipts SET superseded_at = $2 WHERE key_id = $1 AND superseded_at IS NULL"
        static let measure: SQLText = "UPDATE attested_keys SET risk_metric = $2 WHERE id = $1"
        static let finish: SQLText = """
            UPDATE attested_keys SET next_refresh = $2, failures = $3, leased_until = 0, fence = fence + 1 WHERE id = $1
            """
        static let metrics: SQLText = """
            SELECT risk_metric, count(*) FROM attested_keys WHERE app = $1 AND environment = $2 AND risk_metric IS NOT NULL
            AND revoked_at IS NULL GROUP BY risk_metric ORDER BY risk_metric
            """
    }
}
