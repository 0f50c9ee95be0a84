// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import GRDB
import GRDBSQLite
import Synchronization
import TrustStores

/// Connections for reads that are done at once, on the caller's own thread.
///
/// There are never more than threads that read at the same time. GRDB hands each read to the queue of a connection and back, which
/// costs as much as a row by its key does.
final class SQLiteReaders: Sendable {
    private let path: String
    private let state = Mutex(State())

    private struct State {
        var free: [SQLiteReader] = []
        var isClosed = false
    }

    init(path: String) { self.path = path }

    func read<Outcome>(_ body: (any SQLSession) throws -> Outcome) throws -> Outcome {
        let reader = try take()
        defer { give(back: reader) }
        return try body(SQLiteSession(reader: reader))
    }

    /// Closes what is free now; what is being read from is closed when it comes back.
    func close() {
        let free = state.withLock { state in
            state.isClosed = true
            defer { state.free = [] }
            return state.free
        }
        for reader in free { reader.close() }
    }

    private func take() throws -> SQLiteReader {
        let (free, isClosed) = state.withLock { ($0.free.popLast(), $0.isClosed) }
        if isClosed { throw StoreFault.unavailable("the store is closed") }
        return try free ?? SQLiteReader(path: path)
    }

    private func give(back reader: SQLiteReader) {
        let isClosed = state.withLock { state in
            if !state.isClosed { state.free.append(reader) }
            return state.isClosed
        }
        if isClosed { reader.close() }
    }
}

/// One connection that only reads, and its statements, each prepared once. Used by one thread at a time: whoever took it.
final class SQLiteReader: @unchecked Sendable {
    private(set) var connection: OpaquePointer?
    private var statements: [String: OpaquePointer] = [:]

    /// How long a reader waits for a neighbour process that holds the file, in milliseconds.
    private static let patience: Int32 = 5000
    /// The most bytes of a value and of a row: what is longer is an error before it is read. The longest of ours has a tenth of a megabyte.
    static let rowLimit: Int32 = 16 << 20

    init(path: String) throws {
        let code = sqlite3_open_v2(path, &connection, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, nil)
        guard code == SQLITE_OK else {
            let fault = DatabaseError(sqlite: code, connection)
            close()
            throw fault
        }
        sqlite3_busy_timeout(connection, SQLiteReader.patience)
        sqlite3_limit(connection, SQLITE_LIMIT_LENGTH, SQLiteReader.rowLimit)
    }

    func prepared(_ text: String) throws -> OpaquePointer {
        if let statement = statements[text] { return statement }
        var statement: OpaquePointer?
        let code = sqlite3_prepare_v3(connection, text, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &statement, nil)
        guard code == SQLITE_OK, let statement else { throw DatabaseError(sqlite: code, connection, text) }
        statements[text] = statement
        return statement
    }

    func close() {
        for statement in statements.values { sqlite3_finalize(statement) }
        statements = [:]
        sqlite3_close_v2(connection)
        connection = nil
    }
}
