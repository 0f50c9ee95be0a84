// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import TrustStores

/// Keys that are read for many callers in one statement. Made, filled and answered by one thread.
final class KeyBatch: @unchecked Sendable {
    private var asked: [SQLValue] = []
    private var rows: [[UInt8]: SQLRow] = [:]

    var isEmpty: Bool { asked.isEmpty }

    /// Adds a key; gives what reads it when the statement has run. A damaged row is its own caller's fault alone.
    func add(_ id: KeyIdentifier) -> @Sendable () throws -> StoredKey? {
        asked.append(.bytes(id.bytes))
        return { try self.rows[id.bytes].map(StoredKey.init(row:)) }
    }

    /// Reads what was asked for. May run again on another connection.
    func run(on connection: PostgresConnection) throws {
        let arguments = PostgresArguments(columnsOf: asked.map { [$0] })
        let found = try connection.read { _ in try connection.run(KeyBatch.text, arguments).rows }
        rows = try Dictionary(found.map { (try $0.bytes(0), $0) }) { $1 }
    }

    private static let text = "SELECT \(StoredKey.columns) FROM attested_keys WHERE id = ANY($1)"
}
