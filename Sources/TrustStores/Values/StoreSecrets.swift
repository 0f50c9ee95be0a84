// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Crypto
import FoundationEssentials

/// The secrets of a store.
package enum StoreSecrets {
    /// The tables whose rows are secrets, in the schema that this program writes.
    package static let tables = ["store_secrets", "challenge_keys"]
    /// Those of all schemas; in the first one `secrets` was a table.
    static let everyTable = tables + ["secrets"]

    /// One hash of named secrets, in any order.
    package static func mark(_ secrets: [(name: String, value: [UInt8])]) -> [UInt8] {
        let parts = secrets.map { name, value in
            Array(SHA256.hash(data: Data(name.utf8))) + Array(SHA256.hash(data: Data(value)))
        }
        let sorted = parts.sorted { $0.lexicographicallyPrecedes($1) }
        return Array(SHA256.hash(data: Data(sorted.joined())))
    }
}
