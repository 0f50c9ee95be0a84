// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials

extension SQLTrustStore {
    package func append(_ entries: [AuditEntry]) async throws {
        if entries.isEmpty { return }
        try await transact { session in
            // The row stays locked up to the commit, so that numbers become visible in their order.
            var chain = try session.auditEnds(Text.lockedEnds).last
            for entry in entries {
                let line = chain.append(entry)
                try session.run(
                    Text.insert, .integer(line.number), .instant(entry.at), .text(entry.name), .text(entry.operation),
                    .text(entry.target), .text(entry.outcome), .optional(entry.address), .optional(entry.correlationId),
                    .optional(entry.session), .optional(entry.reason), .optional(line.previous))
            }
            try session.run(Text.advance, .integer(chain.number), .bytes(chain.hash))
            return .commit(())
        }
    }

    package func audit(after number: Int64?, limit: Int) async throws -> [NumberedAuditEntry] {
        let limit = Int64(min(max(0, limit), 10_000))
        return try await read { session in
            try session.run(Text.page, .integer(number ?? 0), .integer(limit)).rows.map(NumberedAuditEntry.init(row:))
        }
    }

    package func newestAuditNumber() async throws -> Int64 { try await auditEnds().ends.last.number }

    /// Removes lines from the front of the audit up to the first that is not older than `edge`, and keeps the place of the last one removed.
    ///
    /// Lines go in their order, so one with a wrong time in the future keeps those behind it until its own time has come.
    func sweepAudit(olderThan edge: Int64, atMost rows: Int) async throws -> Int {
        try await transact { session in
            guard try session.row(Text.anyOlder, .integer(edge)) != nil else { return .rollback(0) }
            let cut = try session.auditEnds(Text.lockedEnds).cut
            let front = try session.run(Text.front, .integer(Int64(rows))).rows
            let old = try front.prefix { try $0.integer(1) < edge }
            guard let number = try old.last?.integer(0) else { return .rollback(0) }
            let last = try session.row(Text.page, .integer(number - 1), .integer(1)).map(NumberedAuditEntry.init(row:))
            try session.run(Text.deleteUpTo, .integer(number))
            // Lines that are older than the chain are no part of it.
            if number > cut.number, let last {
                let place = AuditChain(number: number, hash: last.hash)
                let seal = try session.secret(named: AuditChain.secretName).map(place.seal)
                try session.run(Text.cut, .integer(number), .bytes(place.hash), .optional(seal))
            }
            return .commit(old.count)
        }
    }

    /// What does not fit in the chain of the audit, in one sentence; nil if all does. Reads a page at a time.
    func auditProblem() async throws -> String? {
        var (ends, secret) = try await auditEnds()
        // A new secret may have come between the two readings, and its seal with it.
        if !SQLTrustStore.isSealed(ends, secret) { (ends, secret) = try await auditEnds() }
        if !SQLTrustStore.isSealed(ends, secret) {
            return
                "the audit was changed: its checkpoint, line \(ends.cut.number), does not have its seal; compare with an exported audit"
        }
        var place = ends.cut
        var restarts = 0
        while place.number < ends.last.number {
            let page = try await audit(after: place.number, limit: 1000).prefix { $0.number <= ends.last.number }
            var problem = page.isEmpty ? place.missing : nil
            for line in page where problem == nil { problem = place.take(line) }
            guard let problem else { continue }
            // A sweep may have taken the lines that were to come.
            let now = try await auditEnds().ends
            guard now.cut.number > place.number, restarts < 3 else { return problem }
            restarts += 1
            (ends, place) = (now, now.cut)
        }
        guard place == ends.last else {
            return
                "the audit was changed: its last line, \(place.number), is another one; compare with an exported audit"
        }
        // What a node has written meanwhile is in the chain.
        guard let line = try await audit(after: place.number, limit: 1).first,
            try await auditEnds().ends.last.number < line.number
        else { return nil }
        return "the audit was changed: line \(line.number) was added; compare with an exported audit"
    }

    /// Whether the checkpoint has its seal, as far as that can be told: not before the first one, nor in a copy without secrets.
    private static func isSealed(_ ends: AuditEnds, _ secret: [UInt8]?) -> Bool {
        guard let secret, ends.cut.isSealable else { return true }
        return ends.seal == ends.cut.seal(secret)
    }

    private func auditEnds() async throws -> (ends: AuditEnds, secret: [UInt8]?) {
        try await read { session in
            (try session.auditEnds(Text.ends), try session.secret(named: AuditChain.secretName))
        }
    }

    fileprivate enum Text {
        static let ends: SQLText = "SELECT last, hash, cut_number, cut_hash, cut_seal FROM audit_chain WHERE one = 1"
        static let lockedEnds: SQLText = """
            SELECT last, hash, cut_number, cut_hash, cut_seal FROM audit_chain WHERE one = 1 {lock}
            """
        static let advance: SQLText = "UPDATE audit_chain SET last = $1, hash = $2 WHERE one = 1"
        static let cut: SQLText =
            "UPDATE audit_chain SET cut_number = $1, cut_hash = $2, cut_seal = $3 WHERE one = 1"
        static let insert: SQLText = """
            INSERT INTO audit_entries
            (id, at, name, operation, target, outcome, address, correlation_id, session, reason, previous)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
            """
        static let page: SQLText = """
            SELECT id, at, name, operation, target, outcome, address, correlation_id, session, reason, previous
            FROM audit_entries WHERE id > $1 ORDER BY id LIMIT $2
            """
        static let anyOlder: SQLText = "SELECT id FROM audit_entries WHERE at < $1 ORDER BY at LIMIT 1"
        static let front: SQLText = "SELECT id, at FROM audit_entries ORDER BY id LIMIT $1"
        static let deleteUpTo: SQLText = "DELETE FROM audit_entries WHERE id <= $1"
    }
}

/// Both ends of the chain: the line before the first one that is kept, and the last one; and the seal of the first, which is nil before the first
/// cut.
private typealias AuditEnds = (cut: AuditChain, last: AuditChain, seal: [UInt8]?)

extension SQLSession {
    /// Seals the checkpoint of the audit with a new secret, unless it does not have the seal of the secret before.
    ///
    /// - Parameter old: nil if the store had none, as a copy without secrets.
    func sealAudit(_ new: [UInt8], instead old: [UInt8]?) throws {
        let ends = try auditEnds(SQLTrustStore.Text.lockedEnds)
        guard ends.cut.isSealable, old.map({ ends.seal == ends.cut.seal($0) }) ?? true else { return }
        try run("UPDATE audit_chain SET cut_seal = $1 WHERE one = 1", .bytes(ends.cut.seal(new)))
    }

    fileprivate func auditEnds(_ text: SQLText) throws -> AuditEnds {
        guard let row = try row(text) else { throw StoreFault.damaged("the row of audit numbers is missing") }
        let (number, cut) = (try row.integer(0), try row.integer(2))
        return (
            AuditChain(number: cut, hash: try row.optionalBytes(3)),
            AuditChain(number: number, hash: try row.optionalBytes(1)), try row.optionalBytes(4)
        )
    }
}

extension NumberedAuditEntry {
    fileprivate init(row: SQLRow) throws {
        self.init(
            number: try row.integer(0), previous: try row.optionalBytes(10),
            entry: AuditEntry(
                at: try row.date(1), name: try row.text(2), operation: try row.text(3), target: try row.text(4),
                outcome: try row.text(5), address: try row.optionalText(6), correlationId: try row.optionalText(7),
                session: try row.optionalText(8), reason: try row.optionalText(9)))
    }
}
