// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import FoundationEssentials

extension StoredKey {
    package static let columns = """
        id, public_key, app, identity, environment, simulated, user_name, attestation_digest, validation_category,
        bundle_version, os_version, attested_at, counter, largest_gap, last_used_at, revoked_at, risk_metric,
        restored_at,
        (SELECT expires_at FROM key_receipts WHERE key_id = attested_keys.id ORDER BY created_at DESC LIMIT 1)
        """

    /// How many columns ``columns`` names.
    static let columnCount = 19

    /// The app of a key and when it was revoked, locked against others.
    static let revocation: SQLText = "SELECT app, revoked_at FROM attested_keys WHERE id = $1 {lock}"

    static let selecting = SQLText("SELECT \(columns) FROM attested_keys WHERE id = $1")

    /// One row in any case: the key, or NULL in its columns; then whether the name is spent.
    static let standing = SQLText(
        """
        SELECT \(columns), CASE WHEN EXISTS (SELECT 1 FROM spent_names WHERE expires_at = $2 AND name = $3) THEN 1 ELSE 0 END
        FROM (SELECT 1 AS mark) AS question LEFT JOIN attested_keys ON id = $1
        """
    )

    /// Reads ``columns`` in their order, from the front of the row.
    package init(row: SQLRow) throws {
        let record = KeyRecord(
            id: try KeyIdentifier(row: row, at: 0), publicKeyBytes: try row.bytes(1), app: try row.text(2),
            identity: try row.text(3), environment: try row.text(4), simulated: try row.integer(5) != 0,
            user: try row.optionalText(6), attestationDigest: try row.bytes(7),
            validationCategory: try row.optionalInteger(8).map(Int.init), bundleVersion: try row.optionalText(9),
            osVersion: try row.optionalText(10))
        self.init(
            record, attestedAt: try row.date(11), counter: try row.counter(12), largestGap: try row.counter(13),
            lastUsedAt: try row.optionalDate(14), revokedAt: try row.optionalDate(15),
            riskMetric: try row.optionalInteger(16).map(Int.init), restoredAt: try row.optionalDate(17),
            receiptExpiresAt: try row.optionalDate(18))
    }
}

extension ReceiptRecord {
    /// Reads the columns of `Text.receipts`, the one statement for them.
    init(row: SQLRow) throws {
        self.init(
            bytes: try row.bytes(0), createdAt: try row.date(1), notBefore: try row.optionalDate(2),
            expiresAt: try row.optionalDate(3), riskMetric: try row.optionalInteger(4).map(Int.init))
    }
}

extension SQLSession {
    /// Inserts the key as it is before its first assertion; false if its id is taken.
    func insert(_ key: StoredKey, refreshAt: Date?) throws -> Bool {
        let record = key.record
        let result = try run(
            InsertText.key, .bytes(record.id.bytes), .bytes(record.publicKeyBytes), .text(record.app),
            .text(record.identity), .text(record.environment), .integer(record.simulated ? 1 : 0),
            .optional(record.user), .bytes(record.attestationDigest), .optional(record.validationCategory),
            .optional(record.bundleVersion), .optional(record.osVersion), .instant(key.attestedAt),
            .optional(key.riskMetric), .optional(refreshAt))
        return result.changes == 1
    }

    func insert(_ receipt: ReceiptRecord, of id: KeyIdentifier, at instant: Date) throws {
        try run(
            InsertText.receipt, .bytes(id.bytes), .instant(receipt.createdAt), .instant(instant),
            .bytes(receipt.bytes), .optional(receipt.notBefore), .optional(receipt.expiresAt),
            .optional(receipt.riskMetric))
    }

    func insert(_ tombstone: Tombstone) throws {
        for name in tombstone.names { try run(InsertText.tombstone, .bytes(name), .integer(tombstone.day)) }
    }

    /// Whether the key was revoked and then deleted.
    func hasTombstone(of id: KeyIdentifier) throws -> Bool {
        let secret = try secret(named: AuditChain.secretName)
        let bare = Tombstone.hash(of: id)
        let keyed = secret.map { Tombstone.name(of: id, $0) } ?? bare
        return try row("SELECT 1 FROM key_tombstones WHERE name = $1 OR name = $2", .bytes(bare), .bytes(keyed)) != nil
    }

    func insert(_ event: StoreEvent) throws {
        try run(
            InsertText.event, .instant(event.at), .text(event.app), .optional(event.keyId?.bytes), .text(event.kind),
            .optional(event.code.map(StoreText.stored)), .optional(event.detail.map(StoreText.stored)))
    }
}

private enum InsertText {
    static let key: SQLText = """
        INSERT INTO attested_keys (id, public_key, app, identity, environment, simulated, user_name, attestation_digest,
        validation_category, bundle_version, os_version, attested_at, risk_metric, next_refresh, counter, seen,
        largest_gap, leased_until, fence, failures)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, 0, 1, 0, 0, 0, 0) ON CONFLICT DO NOTHING
        """
    static let receipt: SQLText = """
        INSERT INTO key_receipts (key_id, created_at, stored_at, bytes, not_before, expires_at, risk_metric)
        VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT DO NOTHING
        """
    static let tombstone: SQLText =
        "INSERT INTO key_tombstones (name, revoked_on) VALUES ($1, $2) ON CONFLICT DO NOTHING"
    static let event: SQLText =
        "INSERT INTO key_events (at, app, key_id, kind, code, detail) VALUES ($1, $2, $3, $4, $5, $6)"
}

extension KeyIdentifier {
    /// - Throws: `StoreFault` for a column that holds no 32 bytes.
    init(row: SQLRow, at index: Int) throws {
        guard let id = KeyIdentifier(bytes: try row.bytes(index)) else {
            throw StoreFault.damaged("a key id is not 32 bytes")
        }
        self = id
    }
}
