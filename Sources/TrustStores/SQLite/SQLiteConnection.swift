// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import CSQLite

/// One connection to the file, and its statements, each prepared once. Used by one thread at a time: whoever took it.
///
/// Safe: SQLite gives the pointer and those of the statements, which are used until ``close()`` finalizes them and no longer; every text that
/// is handed over is terminated and lives for the call.
@safe package final class SQLiteConnection: @unchecked Sendable {
    private(set) var pointer: OpaquePointer?
    private var statements: [String: OpaquePointer] = unsafe [:]

    /// How long it waits for a neighbour process (a backup, a shell) that holds the file, in milliseconds.
    private static let patience: Int32 = 5000
    /// The most bytes of a value and of a row: what is longer is an error before it is read. The longest of ours has a tenth of a megabyte.
    static let rowLimit: Int32 = 16 << 20
    /// The most bytes of text and data in the rows of one answer; nil for no limit.
    let answerLimit: Int?

    /// - Parameters:
    ///   - writes: whether the file is made if there is none, and may be changed.
    ///   - answerLimit: the most bytes of text and data in the rows of one answer, for a file that a stranger may have made: what goes beyond
    ///     it fails with SQLITE_TOOBIG.
    /// - Throws: `SQLiteFailure`; `StoreFault` for what is no regular file, or if its journal names another file.
    package init(path: String, writes: Bool, answerLimit: Int? = nil) throws {
        self.answerLimit = answerLimit
        try SQLiteFile.check(path)
        let way = writes ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READONLY
        let code = unsafe sqlite3_open_v2(path, &pointer, way | SQLITE_OPEN_NOMUTEX, nil)
        guard code == SQLITE_OK else {
            let failure = unsafe SQLiteFailure(code, of: pointer)
            close()
            throw failure
        }
        // SQLite opens a file that may only be read without a word, even if it was asked to write.
        guard unsafe !writes || sqlite3_db_readonly(pointer, "main") == 0 else {
            let failure = SQLiteFailure(SQLITE_READONLY, "the file is read-only")
            close()
            throw failure
        }
        unsafe sqlite3_extended_result_codes(pointer, 1)
        unsafe sqlite3_busy_timeout(pointer, SQLiteConnection.patience)
        unsafe sqlite3_limit(pointer, SQLITE_LIMIT_LENGTH, SQLiteConnection.rowLimit)
    }

    /// Whether a transaction is open; SQLite ends one by itself if the disk is full or fails.
    var isInTransaction: Bool { unsafe sqlite3_get_autocommit(pointer) == 0 }

    func prepared(_ text: String) throws -> OpaquePointer {
        if let statement = unsafe statements[text] { return unsafe statement }
        var statement: OpaquePointer?
        let code = unsafe sqlite3_prepare_v3(pointer, text, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &statement, nil)
        guard code == SQLITE_OK, let statement = unsafe statement else { throw unsafe SQLiteFailure(code, of: pointer) }
        unsafe statements[text] = unsafe statement
        return unsafe statement
    }

    /// Runs any number of statements without arguments, whose rows nobody wants.
    package func run(script: String) throws {
        let code = unsafe sqlite3_exec(pointer, script, nil, nil, nil)
        guard code == SQLITE_OK else { throw unsafe SQLiteFailure(code, of: pointer) }
    }

    /// The first value of the first row; nil if there is no row.
    package func value(_ text: String) throws -> SQLValue? {
        try row(SQLText(text))?.values.first
    }

    /// All of the body or nothing of it, in a transaction that holds the file from its start.
    package func transaction(_ body: () throws -> Void) throws {
        try run(script: "BEGIN IMMEDIATE")
        do {
            try body()
            try run(script: "COMMIT")
        } catch {
            if isInTransaction { try? run(script: "ROLLBACK") }
            throw error
        }
    }

    package func close() {
        unsafe statements.values.forEach { unsafe sqlite3_finalize($0) }
        unsafe statements = unsafe [:]
        unsafe sqlite3_close_v2(pointer)
        unsafe pointer = nil
    }
}

/// What SQLite says about a result code that it just gave.
package struct SQLiteFailure: Error {
    /// The extended result code.
    package let code: Int32
    package let message: String

    init(_ code: Int32, _ message: String) {
        self.code = code
        self.message = message
    }

    init(_ code: Int32, of connection: OpaquePointer?) {
        self.code = code
        // Safe: the message is terminated, and copied before the next call on the connection.
        message = unsafe sqlite3_errmsg(connection).map { unsafe String(cString: $0) } ?? "nothing"
    }

    /// SQLITE_READONLY_ROLLBACK: half of a transaction is in the file, and who opens it for reading does not take it back.
    package static let interruptedWrite: Int32 = SQLITE_READONLY | 3 << 8

    /// Whether the file is broken, or no database at all.
    var isDamage: Bool { [SQLITE_CORRUPT, SQLITE_NOTADB].contains(code & 0xFF) }
}
