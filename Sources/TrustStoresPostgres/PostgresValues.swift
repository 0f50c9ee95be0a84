// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

#if Postgres
    import CLibpq
    import Findings
    import Foundation
    import TrustStores

    /// The arguments of one statement in the server's binary form.
    struct PostgresArguments {
        private let values: [[UInt8]?]
        let types: [Oid]

        init(_ arguments: [SQLValue]) {
            values = arguments.map { value in
                switch value {
                case .null: nil
                case .integer(let number):
                    (0..<8).map { UInt8(truncatingIfNeeded: number >> Int64(56 - 8 * $0)) }
                // PostgreSQL refuses a text with a zero byte in it; the values that stores take never have one (StoreText).
                case .text(let text): Array(text.utf8)
                case .bytes(let bytes): bytes
                }
            }
            types = arguments.map { value in
                switch value {
                case .null: 0
                case .integer: PostgresType.int8
                case .text: PostgresType.text
                case .bytes: PostgresType.bytea
                }
            }
        }

        var count: Int { values.count }

        /// Buffers the execution of a prepared statement; 1 is success, as libpq says it.
        func send(_ handle: OpaquePointer, _ name: String) -> Int32 {
            // One buffer for all, so that the pointers stay good for the call.
            let joined = values.flatMap { $0 ?? [] }
            let lengths = values.map { Int32($0?.count ?? 0) }
            let formats = [Int32](repeating: 1, count: values.count)
            return joined.withUnsafeBytes { buffer in
                var offset = 0
                let empty = UnsafeRawPointer(bitPattern: 1)
                let pointers = values.map { value -> UnsafePointer<CChar>? in
                    guard let value else { return nil }
                    defer { offset += value.count }
                    let place = buffer.baseAddress.map { $0 + offset } ?? empty
                    return place?.assumingMemoryBound(to: CChar.self)
                }
                return PQsendQueryPrepared(handle, name, Int32(values.count), pointers, lengths, formats, 1)
            }
        }
    }

    /// The types that the schema uses, by their fixed numbers in the server's catalogue.
    enum PostgresType {
        static let bytea: Oid = 17
        static let int8: Oid = 20
        static let int2: Oid = 21
        static let int4: Oid = 23
        static let text: Oid = 25
    }

    /// Rows in the server's binary form.
    enum PostgresRows {
        static func answer(_ result: OpaquePointer) -> PostgresConnection.Answer {
            let columns = PQnfields(result)
            let rows = (0..<PQntuples(result)).map { row in
                SQLRow((0..<columns).map { value(result, row, $0) })
            }
            let changes = PQcmdTuples(result).flatMap { Int(String(cString: $0)) } ?? 0
            let tag = PQcmdStatus(result).map { String(cString: $0) } ?? ""
            return .init(result: SQLResult(rows: rows, changes: changes), tag: tag)
        }

        /// The first row as text, outside pipeline mode.
        static func firstAsText(_ result: OpaquePointer) -> [String?] {
            guard PQntuples(result) > 0 else { return [] }
            return (0..<PQnfields(result)).map { column in
                guard PQgetisnull(result, 0, column) == 0 else { return nil }
                return PQgetvalue(result, 0, column).map { String(cString: $0) }
            }
        }

        private static func value(_ result: OpaquePointer, _ row: Int32, _ column: Int32) -> SQLValue {
            guard PQgetisnull(result, row, column) == 0, let start = PQgetvalue(result, row, column) else {
                return .null
            }
            let length = Int(PQgetlength(result, row, column))
            let bytes = UnsafeRawBufferPointer(start: start, count: length)
            switch PQftype(result, column) {
            case PostgresType.int8, PostgresType.int4, PostgresType.int2:
                let isNegative = (bytes.first ?? 0) & 0x80 != 0
                return .integer(bytes.reduce(isNegative ? -1 : 0) { $0 << 8 | Int64($1) })
            case PostgresType.bytea: return .bytes(Array(bytes))
            default: return .text(String(decoding: bytes, as: UTF8.self))
            }
        }
    }

    /// What the server refused, and what it means to a caller.
    struct ServerError: Error {
        /// The five characters of SQLSTATE.
        let state: String
        let message: String

        init(state: String, message: String) {
            self.state = state
            self.message = message
        }

        init(_ result: OpaquePointer) {
            state = PQresultErrorField(result, Int32(UInt8(ascii: "C"))).map { String(cString: $0) } ?? ""
            message =
                PQresultErrorField(result, Int32(UInt8(ascii: "M"))).map { String(cString: $0) } ?? "no reason given"
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
#endif
