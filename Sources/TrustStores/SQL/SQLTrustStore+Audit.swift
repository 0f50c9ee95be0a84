// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

extension SQLTrustStore {
    package func append(_ entries: [AuditEntry]) async throws {
        if entries.isEmpty { return }
        try await transact { session in
            // The row stays locked up to the commit, so that numbers become visible in their order.
            try session.run(Text.take, .integer(Int64(entries.count)))
            guard let last = try session.row("SELECT last FROM audit_numbers WHERE one = 1")?.integer(0) else {
                throw StoreFault.damaged("the row of audit numbers is missing")
            }
            let first = last - Int64(entries.count) + 1
            _ = try session.run(
                entries.enumerated().map { index, entry in
                    SQLStatement(
                        Text.insert, .integer(first + Int64(index)), .integer(StoreTime.milliseconds(entry.at)),
                        .text(entry.name), .text(entry.operation), .text(entry.target), .text(entry.outcome))
                }
            )
            return .commit(())
        }
    }

    package func audit(after number: Int64?, limit: Int) async throws -> [NumberedAuditEntry] {
        let limit = Int64(min(max(0, limit), 10_000))
        return try await read { session in
            try session.run(Text.page, .integer(number ?? 0), .integer(limit)).rows.map { row in
                NumberedAuditEntry(
                    number: try row.integer(0),
                    entry: AuditEntry(
                        at: StoreTime.date(try row.integer(1)), name: try row.text(2), operation: try row.text(3),
                        target: try row.text(4), outcome: try row.text(5)))
            }
        }
    }

    /// Statements of this file.
    private enum Text {
        static let take: SQLText = "UPDATE audit_numbers SET last = last + $1 WHERE one = 1"
        static let insert: SQLText = """
            INSERT INTO audit_entries (id, at, name, operation, target, outcome) VALUES ($1, $2, $3, $4, $5, $6)
            """
        static let page: SQLText = """
            SELECT id, at, name, operation, target, outcome FROM audit_entries WHERE id > $1 ORDER BY id LIMIT $2
            """
    }
}
