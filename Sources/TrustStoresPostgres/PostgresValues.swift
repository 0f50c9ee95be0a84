// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import CLibpq
import FoundationEssentials
import TrustStores
import Vocabulary

/// The arguments of one statement in the server's binary form.
struct PostgresArguments {
    let values: [[UInt8]?]
    let types: [Oid]

    init(_ arguments: [SQLValue]) {
        values = arguments.map(\.postgres)
        types = arguments.map { PostgresType.of($0).one }
    }

    /// A list for each column. All rows have the columns of the first one, in each the same type, and no NULL.
    init(columnsOf rows: [[SQLValue]]) {
        func number(_ value: some BinaryInteger) -> [UInt8] { SQLValue.bigEndian(UInt32(clamping: value)) }
        let columns = (rows.first ?? []).indices.map { column in rows.map { $0[column] } }
        let types = columns.map { PostgresType.of($0.first ?? .null) }
        self.types = types.map(\.list)
        values = zip(columns, types).map { column, type in
            // One dimension without NULL; then the type, how many there are, and the number of the first.
            let head = number(1) + number(0) + number(type.one) + number(column.count) + number(1)
            return column.reduce(into: head) { list, value in
                let bytes = value.postgres ?? []
                list += number(bytes.count) + bytes
            }
        }
    }
}

extension SQLValue {
    fileprivate static func bigEndian<Number: FixedWidthInteger>(_ number: Number) -> [UInt8] {
        stride(from: Number.bitWidth - 8, through: 0, by: -8).map { UInt8(truncatingIfNeeded: number >> $0) }
    }

    /// The value in the server's binary form; nil for NULL.
    fileprivate var postgres: [UInt8]? {
        switch self {
        case .null: nil
        case .integer(let number): SQLValue.bigEndian(number)
        // PostgreSQL refuses a text with a zero byte in it; the values that stores take never have one (StoreText).
        case .text(let text): Array(text.utf8)
        case .bytes(let bytes): bytes
        }
    }
}

/// The types that the schema uses, by their fixed numbers in the server's catalog.
enum PostgresType {
    /// The type of a value, and of a list of such values; 0 for NULL, whose type the statement says.
    static func of(_ value: SQLValue) -> (one: Oid, list: Oid) {
        switch value {
        case .null: (0, 0)
        case .integer: (int8, 1016)
        case .text: (text, 1009)
        case .bytes: (bytea, 1001)
        }
    }

    static let bytea: Oid = 17
    static let int8: Oid = 20
    static let int2: Oid = 21
    static let int4: Oid = 23
    static let text: Oid = 25
}

/// What the server refused, and what it means to a caller.
struct ServerError: Error {
    /// The five characters of SQLSTATE.
    let state: String
    let message: String

    init(_ result: LibpqResult) {
        state = result.field("C") ?? ""
        message = result.field("M") ?? "no reason given"
    }

    var meaning: any Error {
        let reason = "PostgreSQL says \(message.terminalSafe(limit: 300)) (\(state))"
        switch state.prefix(2) {
        // Serialization failure and deadlock.
        case "40": return TransactionConflict(reason: reason)
        // Shutdown, crash recovery, connection faults, a server that became a read-only standby: another connection may do.
        case "08",
            "25" where state == "25006":
            return BrokenConnection(reason: reason)
        case "57" where state != "57014": return BrokenConnection(reason: reason)
        case "22", "23", "42": return StoreFault.damaged(reason)
        default: return StoreFault.unavailable(reason)
        }
    }
}
