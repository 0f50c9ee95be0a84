// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import CSQLite
package import TrustStores

/// Statements on one connection; each text is prepared once for the life of the connection.
package struct SQLiteSession: SQLSession {
    private let connection: SQLiteConnection

    package init(_ connection: SQLiteConnection) { self.connection = connection }

    package func run(_ statements: [SQLStatement]) throws -> [SQLResult] {
        var results: [SQLResult] = []
        results.reserveCapacity(statements.count)
        for statement in statements { results.append(try run(statement.text.sqlite, statement.arguments)) }
        return results
    }

    /// Runs a statement that has no arguments and no rows.
    func execute(_ text: String) throws { _ = try run(text, []) }

    private func run(_ text: String, _ arguments: [SQLValue]) throws -> SQLResult {
        let statement = try connection.prepared(text)
        // Whatever happens, the statement is ready for its next use, and holds neither a lock nor what was bound.
        defer {
            sqlite3_reset(statement)
            sqlite3_clear_bindings(statement)
        }
        guard sqlite3_bind_parameter_count(statement) == Int32(arguments.count) else {
            throw StoreFault.damaged("a statement wants another number of arguments")
        }
        for (index, argument) in arguments.enumerated() {
            let code = argument.bind(to: statement, at: Int32(index + 1))
            guard code == SQLITE_OK else { throw SQLiteFailure(code, of: connection.pointer) }
        }
        let columns = sqlite3_column_count(statement)
        var rows: [SQLRow] = []
        while true {
            let code = sqlite3_step(statement)
            switch code {
            case SQLITE_ROW: rows.append(SQLRow((0..<columns).map { SQLValue(column: $0, of: statement) }))
            case SQLITE_DONE:
                let changes = columns == 0 ? Int(sqlite3_changes64(connection.pointer)) : 0
                return SQLResult(rows: rows, changes: changes)
            default: throw SQLiteFailure(code, of: connection.pointer)
            }
        }
    }
}

extension SQLValue {
    /// Tells SQLite to copy what it is given before the call returns.
    private static var transient: sqlite3_destructor_type { unsafeBitCast(-1, to: sqlite3_destructor_type.self) }

    fileprivate func bind(to statement: OpaquePointer, at index: Int32) -> Int32 {
        switch self {
        case .null: return sqlite3_bind_null(statement, index)
        case .integer(let number): return sqlite3_bind_int64(statement, index, number)
        case .text(var text):
            return text.withUTF8 { utf8 in
                utf8.withMemoryRebound(to: CChar.self) { characters in
                    guard let first = characters.baseAddress else {
                        return sqlite3_bind_text(statement, index, "", 0, SQLValue.transient)
                    }
                    return sqlite3_bind_text(
                        statement,
                        index,
                        first,
                        Int32(clamping: characters.count),
                        SQLValue.transient
                    )
                }
            }
        case .bytes(let bytes):
            // Without an address SQLite would bind NULL.
            if bytes.isEmpty { return sqlite3_bind_zeroblob(statement, index, 0) }
            return bytes.withUnsafeBytes {
                sqlite3_bind_blob(statement, index, $0.baseAddress, Int32(clamping: $0.count), SQLValue.transient)
            }
        }
    }

    /// A floating-point column does not exist in the schema; it reads as text, which no reader of an integer accepts.
    fileprivate init(column: Int32, of statement: OpaquePointer) {
        switch sqlite3_column_type(statement, column) {
        case SQLITE_NULL: self = .null
        case SQLITE_INTEGER: self = .integer(sqlite3_column_int64(statement, column))
        case SQLITE_BLOB:
            let start = sqlite3_column_blob(statement, column)
            let count = Int(sqlite3_column_bytes(statement, column))
            self = .bytes(Array(UnsafeRawBufferPointer(start: start, count: start == nil ? 0 : count)))
        default:
            let start = sqlite3_column_text(statement, column)
            let count = Int(sqlite3_column_bytes(statement, column))
            let utf8 = UnsafeBufferPointer(start: start, count: start == nil ? 0 : count)
            self = .text(String(decoding: utf8, as: UTF8.self))
        }
    }
}
