// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import GRDB
import TrustStores

/// Statements on one connection; each text is prepared once for the life of the connection.
struct SQLiteSession: SQLSession {
    let database: Database

    func run(_ statements: [SQLStatement]) throws -> [SQLResult] {
        try statements.map { statement in
            let prepared = try database.cachedStatement(sql: statement.text.sqlite)
            prepared.setUncheckedArguments(StatementArguments(statement.arguments.map(\.databaseValue)))
            if prepared.columnCount == 0 {
                try prepared.execute()
                return SQLResult(rows: [], changes: database.changesCount)
            }
            let rows = try Row.fetchAll(prepared).map { row in
                SQLRow((0..<prepared.columnCount).map { SQLValue(row[$0] as DatabaseValue) })
            }
            return SQLResult(rows: rows, changes: 0)
        }
    }

    /// Runs a statement that has no arguments and no rows.
    func execute(_ text: String) throws { try database.cachedStatement(sql: text).execute() }
}

extension SQLValue {
    fileprivate var databaseValue: DatabaseValue {
        switch self {
        case .null: .null
        case .integer(let number): number.databaseValue
        case .text(let text): text.databaseValue
        case .bytes(let bytes): Data(bytes).databaseValue
        }
    }

    /// A floating-point column does not exist in the schema; it reads as text, which no reader of an integer accepts.
    fileprivate init(_ value: DatabaseValue) {
        switch value.storage {
        case .null: self = .null
        case .int64(let number): self = .integer(number)
        case .double(let number): self = .text(String(number))
        case .string(let text): self = .text(text)
        case .blob(let data): self = .bytes(Array(data))
        }
    }
}
