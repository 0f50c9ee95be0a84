// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import AppAttest
package import FoundationEssentials
import Vocabulary

extension SQLTrustStore {
    package func keys(matching filter: KeyFilter, after cursor: KeyCursor?, limit: Int) async throws -> KeyPage {
        let limit = min(max(1, limit), KeyPage.largest)
        guard filter.isStorable else { return KeyPage(keys: [], next: nil) }
        return try await read { session in
            // One more, to see whether there are more.
            var found: [StoredKey] = []
            if filter.user != nil {
                found = try session.keysOfUser(filter, after: cursor, limit: limit + 1)
            } else {
                let environments =
                    filter.environment.map { [$0] } ?? AttestationEnvironment.allCases.map(\.rawValue).sorted()
                for environment in environments where found.count <= limit {
                    found += try session.keys(
                        of: filter.app, in: environment, after: cursor, limit: limit + 1 - found.count)
                }
            }
            return KeyPage(found, limit: limit)
        }
    }

    /// Page by page, because the count of ten million keys takes longer than any read may.
    package func keyCounts() async throws -> [KeyCount] {
        var counts: [KeyCount] = []
        var cursor: KeyCursor?
        repeat {
            let start = cursor
            let page = try await read { session in try session.keyCounts(after: start) }
            for count in page.counts {
                // The kinds of one app in one environment, genuine and simulated, stand together.
                let known = counts.indices.suffix(2).first { counts[$0].isOfSameKind(as: count) }
                if let known { counts[known].keys += count.keys } else { counts.append(count) }
            }
            cursor = page.next
        } while cursor != nil
        return counts
    }

    package func deleteKey(_ id: KeyIdentifier) async throws -> Bool { try await delete([id], ofUser: nil) == 1 }

    package func deleteKeys(ofUser user: String, app: String?) async throws -> Int {
        let filter = KeyFilter(app: app, user: user)
        var deleted = 0
        var cursor: KeyCursor?
        repeat {
            let page = try await keys(matching: filter, after: cursor, limit: Batch.rows)
            deleted += try await delete(page.keys.map(\.id), ofUser: user)
            cursor = page.next
        } while cursor != nil
        return deleted
    }

    package func revokeKeys(
        of app: String, matching rule: RevocationRule, bound: RevocationBound, code: String?, at instant: Date
    ) async throws -> RevocationResult {
        // The ids in one array, because there may be millions: each in its own takes more than twice as much.
        var (count, found): (Int, [UInt8]) = (0, [])
        try await forEachPage(of: app, matching: rule) { ids in
            count += ids.count
            if bound != .dryRun { for id in ids { found += id.bytes } }
            return !bound.isExceeded(by: count)
        }
        guard bound.admits(count) else { return .unchanged(count) }
        func keys(_ range: Range<Int>) -> [KeyIdentifier] {
            range.compactMap { KeyIdentifier(bytes: found[32 * $0..<32 * $0 + 32]) }
        }
        if count <= Batch.together {
            return try await revoke(keys(0..<count), app: app, bound: bound, code: code, at: instant)
        }
        var revoked = 0
        for start in stride(from: 0, to: count, by: Batch.rows) {
            let batch = keys(start..<min(start + Batch.rows, count))
            // Of callers that expect the same keys one gets the first of them, and with these the rest.
            let size = start == 0 ? RevocationBound.exactly(batch.count) : .atMost(batch.count)
            switch try await revoke(batch, app: app, bound: size, code: code, at: instant) {
            case .revoked(let number): revoked += number
            // Of the first ones some were revoked since the count.
            case .unchanged(let number): return .unchanged(count - batch.count + number)
            }
        }
        return .revoked(revoked)
    }

    package func revokedKeys(since instant: Date, limit: Int) async throws -> RevokedKeys {
        let start = SQLValue.instant(instant)
        // One more, to see whether there are more.
        let rows = SQLValue.integer(Int64(min(max(0, limit), 1_000_000) + 1))
        let day = SQLValue.integer(Tombstone.day(of: StoreTime.milliseconds(instant)))
        return try await read { session in
            let keys = try session.run(Text.revokedSince, start, rows).rows
                .map { (id: try KeyIdentifier(row: $0, at: 0), at: try $0.integer(1)) }
            let tombstones = try session.run(Text.tombstonesSince, day, rows).rows
                .map { (name: try $0.bytes(0), day: try $0.integer(1)) }
            return RevokedKeys(keys, tombstones, limit: limit)
        }
    }

    /// Gives the unrevoked keys that a rule includes, page by page, until the body wants no more.
    private func forEachPage(
        of app: String, matching rule: RevocationRule, _ body: ([KeyIdentifier]) async throws -> Bool
    ) async throws {
        var cursor: KeyCursor?
        repeat {
            let page = try await keys(matching: rule.filter(app: app), after: cursor, limit: KeyPage.largest)
            guard try await body(page.keys.filter { $0.revokedAt == nil && rule.includes($0) }.map(\.id)) else {
                return
            }
            cursor = page.next
        } while cursor != nil
    }

    /// Revokes some keys in one transaction, or none if the bound does not admit how many are still unrevoked; ids ascend, so that two
    /// callers never wait for each other in a circle.
    private func revoke(
        _ ids: [KeyIdentifier], app: String, bound: RevocationBound, code: String?, at instant: Date
    ) async throws -> RevocationResult {
        let ids = ids.ascending
        return try await transact { session in
            var count = 0
            for id in ids where try session.revoke(id, app: app, code: code, at: instant) { count += 1 }
            guard bound.admits(count) else { return .rollback(.unchanged(count)) }
            return count == 0 ? .rollback(.revoked(0)) : .commit(.revoked(count))
        }
    }

    /// Removes some keys in one transaction. What their events say of them goes first, in transactions of their own: if this program
    /// ends in between, the keys are still there to be deleted again.
    private func delete(_ ids: [KeyIdentifier], ofUser user: String?) async throws -> Int {
        if ids.isEmpty { return 0 }
        let ids = ids.ascending
        try await clearEvents(of: ids)
        let deleted = try await transact { session -> SQLEnd<Int> in
            let secret = try session.secret(named: AuditChain.secretName)
            var gone = 0
            for id in ids {
                let revokedAt = try session.row(StoredKey.revocation, .bytes(id.bytes))?.optionalInteger(1)
                let result =
                    try user.map { try session.run(Text.deleteOfUser, .bytes(id.bytes), .text($0)) }
                    ?? session.run(Text.delete, .bytes(id.bytes))
                if result.changes == 0 { continue }
                gone += 1
                try session.run(Text.deleteReceipts, .bytes(id.bytes))
                if let revokedAt { try session.insert(Tombstone(id, revokedAt: revokedAt, secret: secret)) }
            }
            return gone == 0 ? .rollback(0) : .commit(gone)
        }
        // What was written between the two.
        try await clearEvents(of: ids)
        return deleted
    }

    private func clearEvents(of ids: [KeyIdentifier]) async throws {
        for id in ids {
            var last: Int64 = 0
            while true {
                let after = last
                let found = try await read { session in
                    try session.run(Text.events, .bytes(id.bytes), .integer(after), .integer(Int64(Batch.rows))).rows
                        .map { try $0.integer(0) }
                }
                guard let first = found.first, let newest = found.last else { break }
                last = newest
                try await transact { session in
                    try session.run(Text.clear, .bytes(id.bytes), .integer(first), .integer(newest))
                    return .commit(())
                }
            }
        }
    }

    /// How much goes in one transaction, so that the writer is free for others after some milliseconds.
    private enum Batch {
        static let rows = 250
        /// The most keys whose revocation is one transaction, because their number decides whether it is made.
        static let together = 1000
    }

    private enum Text {
        static let revokedSince: SQLText =
            "SELECT id, revoked_at FROM attested_keys WHERE revoked_at >= $1 ORDER BY revoked_at DESC LIMIT $2"
        // Marks, and what stores of 0.2.0 have in their place; the names that last are longer.
        static let tombstonesSince: SQLText = """
            SELECT name, revoked_on FROM key_tombstones WHERE revoked_on >= $1 AND length(name) <= 32
            ORDER BY revoked_on DESC LIMIT $2
            """
        static let delete: SQLText = "DELETE FROM attested_keys WHERE id = $1"
        static let deleteOfUser: SQLText = "DELETE FROM attested_keys WHERE id = $1 AND user_name = $2"
        static let deleteReceipts: SQLText = "DELETE FROM key_receipts WHERE key_id = $1"
        static let events: SQLText = "SELECT id FROM key_events WHERE key_id = $1 AND id > $2 ORDER BY id LIMIT $3"
        static let clear: SQLText =
            "UPDATE key_events SET key_id = NULL, detail = NULL WHERE key_id = $1 AND id >= $2 AND id <= $3"
    }
}

/// The statements of ``SQLTrustStore/keyCounts()``, which an index answers alone.
enum KeyCountText {
    /// How many keys are counted at once: some hundred milliseconds at most.
    static let size: Int64 = 50_000

    static let last: SQLText = """
        SELECT environment, app, id FROM attested_keys WHERE (environment, app, id) > ($1, $2, $3)
        ORDER BY environment, app, id LIMIT 1 OFFSET $4
        """
    static let rest = counting("")
    static let page = counting("AND (environment, app, id) <= ($4, $5, $6)")

    private static func counting(_ end: String) -> SQLText {
        SQLText(
            """
            SELECT app, environment, simulated, count(*) FROM attested_keys
            WHERE (environment, app, id) > ($1, $2, $3) \(end) AND revoked_at IS NULL
            GROUP BY environment, app, simulated ORDER BY environment, app, simulated
            """
        )
    }
}

extension KeyCursor {
    /// The place as it is compared in the order of the list; without a cursor the one before every key.
    fileprivate static func values(of cursor: KeyCursor?) -> [SQLValue] {
        [.text(cursor?.environment ?? ""), .text(cursor?.app ?? ""), .bytes(cursor?.id.bytes ?? [])]
    }

    /// - Parameter row: environment, app and id.
    fileprivate init(row: SQLRow) throws {
        self.init(environment: try row.text(0), app: try row.text(1), id: try KeyIdentifier(row: row, at: 2))
    }
}

extension KeyCount {
    fileprivate func isOfSameKind(as other: KeyCount) -> Bool {
        environment.hasSameBytes(as: other.environment) && app.hasSameBytes(as: other.app)
            && simulated == other.simulated
    }
}

extension SQLSession {
    /// Counts the keys of one page, and gives its last place if more follow.
    fileprivate func keyCounts(after cursor: KeyCursor?) throws -> (counts: [KeyCount], next: KeyCursor?) {
        let start = KeyCursor.values(of: cursor)
        let skipped = SQLValue.integer(KeyCountText.size - 1)
        let last = try run(KeyCountText.last, start + [skipped]).rows.first
        let next = try last.map(KeyCursor.init(row:))
        let rows =
            try next.map { try run(KeyCountText.page, start + KeyCursor.values(of: $0)) }?.rows
            ?? run(KeyCountText.rest, start).rows
        return (
            try rows.map { row in
                KeyCount(
                    app: try row.text(0), environment: try row.text(1), simulated: try row.integer(2) != 0,
                    keys: Int(try row.integer(3)))
            }, next
        )
    }
}

extension [KeyIdentifier] {
    fileprivate var ascending: [KeyIdentifier] { sorted { $0.bytes.lexicographicallyPrecedes($1.bytes) } }
}

extension RevocationRule {
    /// What the list of keys can narrow down.
    func filter(app: String) -> KeyFilter {
        switch self {
        case .user(let user): KeyFilter(app: app, user: user)
        case .environment(let environment): KeyFilter(app: app, environment: environment)
        case .simulated, .attestedBefore: KeyFilter(app: app)
        }
    }

    /// The rest of the rule.
    func includes(_ key: StoredKey) -> Bool {
        switch self {
        case .user, .environment: true
        case .simulated: key.simulated
        case .attestedBefore(let instant): key.attestedAt < instant
        }
    }
}

extension SQLSession {
    /// The keys of one app, or of all, in an environment: one index gives them in their order.
    fileprivate func keys(
        of app: String?, in environment: String, after cursor: KeyCursor?, limit: Int
    ) throws -> [StoredKey] {
        // Behind the cursor's environment everything is new; before it nothing is.
        if let cursor, UTF8Key(environment) < UTF8Key(cursor.environment) { return [] }
        let start = cursor.flatMap { environment.hasSameBytes(as: $0.environment) ? $0 : nil }
        return try run(
            app == nil ? ListText.ofEnvironment : ListText.ofApp, .text(environment), .text(app ?? start?.app ?? ""),
            .bytes(start?.id.bytes ?? []), .integer(Int64(limit))
        ).rows.map(StoredKey.init(row:))
    }

    /// The keys of one user by id alone: there are few.
    fileprivate func keysOfUser(_ filter: KeyFilter, after cursor: KeyCursor?, limit: Int) throws -> [StoredKey] {
        try run(
            ListText.ofUser, .optional(filter.user), .bytes(cursor?.id.bytes ?? []), .integer(Int64(limit)),
            .optional(filter.app), .optional(filter.environment)
        ).rows.map(StoredKey.init(row:))
    }
}

/// The first two are answered from the index `keys_by_kind` alone, in its order.
private enum ListText {
    static let ofApp = SQLText(
        """
        SELECT \(StoredKey.columns) FROM attested_keys WHERE environment = $1 AND app = $2 AND id > $3
        ORDER BY environment, app, id LIMIT $4
        """
    )
    static let ofEnvironment = SQLText(
        """
        SELECT \(StoredKey.columns) FROM attested_keys WHERE environment = $1 AND (app, id) > ($2, $3)
        ORDER BY environment, app, id LIMIT $4
        """
    )
    static let ofUser = SQLText(
        """
        SELECT \(StoredKey.columns) FROM attested_keys WHERE user_name = $1 AND id > $2
        AND app = coalesce($4, app) AND environment = coalesce($5, environment) ORDER BY id LIMIT $3
        """
    )
}
