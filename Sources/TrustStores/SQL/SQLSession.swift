// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

/// One value of a row or an argument. Both databases store nothing else.
package enum SQLValue: Sendable, Equatable {
    case null
    case integer(Int64)
    case text(String)
    case bytes([UInt8])

    package static func optional(_ number: Int64?) -> SQLValue { number.map(SQLValue.integer) ?? .null }
    package static func optional(_ number: Int?) -> SQLValue { number.map { .integer(Int64($0)) } ?? .null }
    package static func optional(_ text: String?) -> SQLValue { text.map(SQLValue.text) ?? .null }
    package static func optional(_ bytes: [UInt8]?) -> SQLValue { bytes.map(SQLValue.bytes) ?? .null }
}

/// The text of one statement in both dialects, written once.
///
/// Arguments are `$1`, `$2`, ...; `{lock}` stands for a row lock and `{skip}` for one that passes over rows locked by others. SQLite
/// has one writer and needs neither. `{now}` is the database's own clock in milliseconds, NULL for SQLite, which has none.
package struct SQLText: Sendable, ExpressibleByStringLiteral {
    package let sqlite: String
    package let postgres: String

    package init(stringLiteral source: String) { self.init(source) }

    package init(_ source: String) {
        sqlite = source.replacing("{lock}", with: "").replacing("{skip}", with: "").replacing("{now}", with: "NULL")
            .replacing("$", with: "?")
        postgres = source.replacing("{lock}", with: "FOR UPDATE").replacing("{skip}", with: "FOR UPDATE SKIP LOCKED")
            .replacing("{now}", with: "(floor(extract(epoch FROM clock_timestamp()) * 1000))::bigint")
    }

    /// A statement that has nothing in common in the two dialects.
    package init(sqlite: String, postgres: String) {
        self.sqlite = sqlite
        self.postgres = postgres
    }
}

/// A statement that does the same for the rows of many callers, in both dialects. By reference: an engine knows it again by its identity.
package final class SharedStatement: Sendable {
    /// Statements for one row after the other (`?1`, `?2`, ... are its columns). If the first one answers, the others are run, and its answer
    /// is the row's. Only the first may find a reason not to go on.
    package let sqlite: [String]
    /// One statement over a list of each column (`$1`, `$2`, ...). It answers the rows for which it has done something, by their number from 1
    /// in the first column, and changes nothing for the others.
    package let postgres: String

    package init(sqlite: [String], postgres: String) {
        self.sqlite = sqlite
        self.postgres = postgres
    }
}

/// One statement with its arguments.
package struct SQLStatement: Sendable {
    package let text: SQLText
    package let arguments: [SQLValue]

    package init(_ text: SQLText, _ arguments: SQLValue...) {
        self.text = text
        self.arguments = arguments
    }

    package init(_ text: SQLText, arguments: [SQLValue]) {
        self.text = text
        self.arguments = arguments
    }
}

/// What one statement gave: its rows, and how many rows it changed.
package struct SQLResult: Sendable {
    package let rows: [SQLRow]
    package let changes: Int

    package init(rows: [SQLRow], changes: Int) {
        self.rows = rows
        self.changes = changes
    }
}

/// One row, read by position. What does not fit was not written by this program.
package struct SQLRow: Sendable {
    package let values: [SQLValue]

    package init(_ values: [SQLValue]) { self.values = values }

    package func integer(_ index: Int) throws -> Int64 {
        guard let value = try optionalInteger(index) else { throw unexpected(index, "an integer") }
        return value
    }

    package func optionalInteger(_ index: Int) throws -> Int64? {
        switch value(index) {
        case .integer(let number): return number
        case .null: return nil
        default: throw unexpected(index, "an integer")
        }
    }

    package func text(_ index: Int) throws -> String {
        guard let value = try optionalText(index) else { throw unexpected(index, "text") }
        return value
    }

    package func optionalText(_ index: Int) throws -> String? {
        switch value(index) {
        case .text(let text): return text
        case .null: return nil
        default: throw unexpected(index, "text")
        }
    }

    package func bytes(_ index: Int) throws -> [UInt8] {
        guard let value = try optionalBytes(index) else { throw unexpected(index, "bytes") }
        return value
    }

    package func optionalBytes(_ index: Int) throws -> [UInt8]? {
        switch value(index) {
        case .bytes(let bytes): return bytes
        case .null: return nil
        default: throw unexpected(index, "bytes")
        }
    }

    private func value(_ index: Int) -> SQLValue { values.indices.contains(index) ? values[index] : .null }

    private func unexpected(_ index: Int, _ wanted: String) -> StoreFault {
        .damaged("column \(index) of a row is not \(wanted)")
    }
}

/// A transaction in which statements run.
package protocol SQLSession {
    /// Runs statements in their order. They may be sent together; the first that fails ends the transaction.
    func run(_ statements: [SQLStatement]) throws -> [SQLResult]
}

extension SQLSession {
    @discardableResult
    func run(_ text: SQLText, _ arguments: SQLValue...) throws -> SQLResult {
        try run([SQLStatement(text, arguments: arguments)]).first ?? SQLResult(rows: [], changes: 0)
    }

    /// The first row of one statement.
    func row(_ text: SQLText, _ arguments: SQLValue...) throws -> SQLRow? {
        try run([SQLStatement(text, arguments: arguments)]).first?.rows.first
    }
}

/// How a transaction ends: both carry what the caller is told.
package enum SQLEnd<Outcome: Sendable>: Sendable {
    case commit(Outcome)
    case rollback(Outcome)
}

/// A database that runs transactions.
package protocol SQLEngine: Sendable {
    /// What OpenTelemetry's conventions call the database (`db.system.name`).
    var systemName: String { get }

    /// Runs the body in one transaction, and returns only after a durable commit or a rollback. The body may run again after a
    /// conflict, so it does nothing but run statements.
    func transact<Outcome: Sendable>(
        _ body: @escaping @Sendable (any SQLSession) throws -> SQLEnd<Outcome>
    ) async throws -> Outcome

    /// Runs statements that only read, outside any transaction.
    func read<Outcome: Sendable>(_ body: @escaping @Sendable (any SQLSession) throws -> Outcome) async throws -> Outcome

    /// Reads a few rows by their keys: soon done, so that an engine may do it on the caller's thread.
    func look<Outcome: Sendable>(_ body: @escaping @Sendable (any SQLSession) throws -> Outcome) async throws -> Outcome

    /// Gives a row to a statement that changes something for all rows it is given, of whoever else calls, and commits that before it
    /// returns.
    ///
    /// - Parameters:
    ///   - row: values that are not NULL.
    /// - Returns: what the statement answered for this row. Nil if it passed over the row, or if it was refused and changed nothing at all: then
    ///   a transaction of the caller's own decides.
    func join(_ row: [SQLValue], in statement: SharedStatement) async throws -> SQLRow?

    /// Finishes what was begun and closes.
    func close() async
}
