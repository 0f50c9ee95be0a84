// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import CSQLite

/// Statements on the connection; each text is prepared once for its life.
extension SQLiteConnection: SQLSession {
    @discardableResult
    package func run(_ text: SQLText, _ arguments: [SQLValue]) throws -> SQLResult {
        try run(sqlite: text.sqlite, arguments)
    }

    /// Runs a statement that has no arguments and no rows.
    func execute(_ text: String) throws { _ = try run(sqlite: text, []) }

    // Safe: the connection keeps the statement until it is closed, and one thread uses it at a time.
    private func run(sqlite text: String, _ arguments: [SQLValue]) throws -> SQLResult {
        let statement = unsafe try prepared(text)
        // Whatever happens, the statement is ready for its next use, and holds neither a lock nor what was bound.
        defer {
            unsafe sqlite3_reset(statement)
            unsafe sqlite3_clear_bindings(statement)
        }
        guard unsafe Int(sqlite3_bind_parameter_count(statement)) == arguments.count else {
            throw StoreFault.damaged("a statement expects another number of arguments")
        }
        for index in arguments.indices {
            let code = unsafe arguments[index].bind(to: statement, at: Int32(index + 1))
            guard code == SQLITE_OK else { throw unsafe SQLiteFailure(code, of: pointer) }
        }
        let columns = unsafe sqlite3_column_count(statement)
        var rows: [SQLRow] = []
        var room = answerLimit ?? .max
        while true {
            let code = unsafe sqlite3_step(statement)
            switch code {
            case SQLITE_ROW:
                rows.append(SQLRow((0..<columns).map { unsafe SQLValue(column: $0, of: statement) }))
                for value in rows.last?.values ?? [] {
                    let (left, isOver) = room.subtractingReportingOverflow(value.size)
                    guard !isOver, left >= 0 else {
                        throw SQLiteFailure(SQLITE_TOOBIG, "an answer is longer than this file may give")
                    }
                    room = left
                }
            case SQLITE_DONE:
                let changes = unsafe columns == 0 ? Int(sqlite3_changes64(pointer)) : 0
                return (rows, changes)
            default: throw unsafe SQLiteFailure(code, of: pointer)
            }
        }
    }
}

// Safe: SQLite copies what is bound before the call returns (SQLITE_TRANSIENT), it is read no further than its count, and what a column lends
// is copied before the next step.
extension SQLValue {
    /// Bytes of text and data.
    fileprivate var size: Int {
        switch self {
        case .null, .integer: 0
        case .text(let text): text.utf8.count
        case .bytes(let bytes): bytes.count
        }
    }

    /// Tells SQLite to copy what it is given before the call returns.
    private static var transient: sqlite3_destructor_type { unsafe unsafeBitCast(-1, to: sqlite3_destructor_type.self) }

    fileprivate func bind(to statement: OpaquePointer, at index: Int32) -> Int32 {
        switch self {
        case .null: return unsafe sqlite3_bind_null(statement, index)
        case .integer(let number): return unsafe sqlite3_bind_int64(statement, index, number)
        case .text(let text):
            return unsafe sqlite3_bind_text(
                statement, index, text, Int32(clamping: text.utf8.count), SQLValue.transient)
        case .bytes(let bytes):
            // Without an address SQLite would bind NULL.
            if bytes.isEmpty { return unsafe sqlite3_bind_zeroblob(statement, index, 0) }
            return unsafe sqlite3_bind_blob(statement, index, bytes, Int32(clamping: bytes.count), SQLValue.transient)
        }
    }

    /// A floating-point column does not exist in the schema; it reads as text, which no reader of an integer accepts.
    fileprivate init(column: Int32, of statement: OpaquePointer) {
        switch unsafe sqlite3_column_type(statement, column) {
        case SQLITE_NULL: self = .null
        case SQLITE_INTEGER: self = unsafe .integer(sqlite3_column_int64(statement, column))
        case SQLITE_BLOB:
            let start = unsafe sqlite3_column_blob(statement, column)
            let count = unsafe Int(sqlite3_column_bytes(statement, column))
            self = unsafe .bytes(Array(UnsafeRawBufferPointer(start: start, count: start == nil ? 0 : count)))
        default:
            let start = unsafe sqlite3_column_text(statement, column)
            let count = unsafe Int(sqlite3_column_bytes(statement, column))
            let utf8 = unsafe UnsafeBufferPointer(start: start, count: start == nil ? 0 : count)
            self = unsafe .text(String(decoding: utf8, as: UTF8.self))
        }
    }
}
