// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import GRDB
package import TrustStores

extension SQLTrustStore {
    /// The number of the schema that a file has, without opening it as a store: nothing is migrated. Nil where there is no such file, or it is no
    /// store.
    package static func schema(ofSQLiteAt path: String) -> Int? {
        var configuration = Configuration()
        configuration.readonly = true
        guard let queue = try? DatabaseQueue(path: path, configuration: configuration) else { return nil }
        defer { try? queue.close() }
        return try? queue.read { try Int.fetchOne($0, sql: "SELECT max(version) FROM schema_versions") } ?? nil
    }
}
