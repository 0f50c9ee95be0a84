// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

#if Postgres
    import CLibpq
    import Findings
    import Foundation
    import TrustStores

    /// The arguments of one statement in the server's binary form.
    struct PostgresArguments {
        let values: [[UInt8]?]
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
    }

    /// The types that the schema uses, by their fixed numbers in the server's catalogue.
    enum PostgresType {
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

        init(state: String, message: String) {
            self.state = state
            self.message = message
        }

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
#endif
