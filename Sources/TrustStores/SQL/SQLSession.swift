// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import AppAttest
package import FoundationEssentials
import Glibc

/// One value of a row or an argument. Both databases store nothing else.
package enum SQLValue: Sendable, Equatable {
    case null
    case integer(Int64)
    case text(String)
    case bytes([UInt8])

    /// An instant as ``StoreTime`` has it.
    package static func instant(_ date: Date) -> SQLValue { .integer(StoreTime.milliseconds(date)) }
    package static func optional(_ date: Date?) -> SQLValue { date.map(SQLValue.instant) ?? .null }
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

/// What one statement gave: its rows, and how many rows it changed.
package typealias SQLResult = (rows: [SQLRow], changes: Int)

/// One row, read by position. What does not fit was not written by this program.
package struct SQLRow: Sendable {
    package let values: [SQLValue]

    package init(_ values: [SQLValue]) { self.values = values }

    package func integer(_ index: Int) throws -> Int64 { try present(optionalInteger(index), index, "an integer") }

    package func optionalInteger(_ index: Int) throws -> Int64? {
        switch value(index) {
        case .integer(let number): return number
        case .null: return nil
        default: throw unexpected(index, "an integer")
        }
    }

    package func text(_ index: Int) throws -> String { try present(optionalText(index), index, "text") }

    package func optionalText(_ index: Int) throws -> String? {
        switch value(index) {
        case .text(let text): return text
        case .null: return nil
        default: throw unexpected(index, "text")
        }
    }

    package func bytes(_ index: Int) throws -> [UInt8] { try present(optionalBytes(index), index, "bytes") }

    package func optionalBytes(_ index: Int) throws -> [UInt8]? {
        switch value(index) {
        case .bytes(let bytes): return bytes
        case .null: return nil
        default: throw unexpected(index, "bytes")
        }
    }

    func date(_ index: Int) throws -> Date { StoreTime.date(try integer(index)) }

    func optionalDate(_ index: Int) throws -> Date? { try optionalInteger(index).map(StoreTime.date) }

    private func present<Value>(_ value: Value?, _ index: Int, _ wanted: String) throws -> Value {
        guard let value else { throw unexpected(index, wanted) }
        return value
    }

    private func value(_ index: Int) -> SQLValue { values.indices.contains(index) ? values[index] : .null }

    private func unexpected(_ index: Int, _ wanted: String) -> StoreFault {
        .damaged("column \(index) of a row is not \(wanted)")
    }
}

/// A transaction in which statements run.
package protocol SQLSession {
    /// Runs one statement; the first that fails ends the transaction.
    @discardableResult func run(_ text: SQLText, _ arguments: [SQLValue]) throws -> SQLResult
}

extension SQLSession {
    @discardableResult
    package func run(_ text: SQLText, _ arguments: SQLValue...) throws -> SQLResult { try run(text, arguments) }

    /// The first row of one statement.
    package func row(_ text: SQLText, _ arguments: SQLValue...) throws -> SQLRow? {
        try run(text, arguments).rows.first
    }
}

/// How a transaction ends: both carry what the caller is told.
package enum SQLEnd<Outcome: Sendable>: Sendable {
    case commit(Outcome)
    case rollback(Outcome)
}

/// Statements that only read.
package typealias SQLReading<Outcome> = @Sendable (any SQLSession) throws -> Outcome
/// The statements of a transaction, and how it ends.
package typealias SQLTransaction<Outcome: Sendable> = @Sendable (any SQLSession) throws -> SQLEnd<Outcome>

/// A database that runs transactions.
package protocol SQLEngine: Sendable {
    /// What OpenTelemetry's conventions call the database (`db.system.name`).
    var systemName: String { get }

    /// Runs the body in one transaction, and returns only after a durable commit or a rollback. The body may run again after a
    /// conflict, so it does nothing but run statements.
    func transact<Outcome: Sendable>(_ body: @escaping SQLTransaction<Outcome>) async throws -> Outcome

    /// Runs statements that only read, outside any transaction.
    func read<Outcome: Sendable>(_ body: @escaping SQLReading<Outcome>) async throws -> Outcome

    /// Reads a few rows by their keys, which no long read holds up.
    func look<Outcome: Sendable>(_ body: @escaping SQLReading<Outcome>) async throws -> Outcome

    /// Reads a key, together with those that other callers ask for if the engine can read many for less than one after the other.
    func key(_ id: KeyIdentifier) async throws -> StoredKey?

    /// Accepts an assertion together with those of other callers, if the engine can commit many for less than one after the other.
    ///
    /// - Returns: nil if it was not accepted, whatever the reason: then a transaction for this one alone decides.
    func accept(_ advance: CounterAdvance, at instant: Date) async throws -> AdvanceOutcome?

    /// Finishes what was begun and closes.
    func close() async
}

/// Stands around what a store asks its database, as a span does.
package protocol StoreVerbWrapper: Sendable {
    /// Runs a verb, or throws in its stead.
    ///
    /// - Parameters:
    ///   - verb: the name of the method of ``TrustStore``.
    ///   - body: asks the database.
    func run<Result: Sendable>(
        _ verb: String, _ body: @escaping @Sendable () async throws -> Result
    ) async throws -> Result
}

extension SQLTrustStore {
    func transact<Outcome: Sendable>(
        _ verb: String = #function, _ body: @escaping SQLTransaction<Outcome>
    ) async throws -> Outcome {
        try await wrapped(verb) { [engine] in try await engine.transact(body) }
    }

    func read<Outcome: Sendable>(
        _ verb: String = #function, _ body: @escaping SQLReading<Outcome>
    ) async throws -> Outcome {
        try await wrapped(verb) { [engine] in try await engine.read(body) }
    }

    func look<Outcome: Sendable>(
        _ verb: String = #function, _ body: @escaping SQLReading<Outcome>
    ) async throws -> Outcome {
        try await wrapped(verb) { [engine] in try await engine.look(body) }
    }

    /// - Parameter function: the name of the calling method, as `#function` has it.
    func wrapped<Outcome: Sendable>(
        _ function: String = #function, _ body: @escaping @Sendable () async throws -> Outcome
    ) async throws -> Outcome {
        guard let wrapper else { return try await body() }
        return try await wrapper.run(String(function.prefix { $0 != "(" }), body)
    }
}
