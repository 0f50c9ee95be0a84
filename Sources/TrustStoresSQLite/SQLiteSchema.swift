// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import TrustStores

extension SQLTrustStore {
    /// The number of the schema that a file has, without opening it as a store: nothing is migrated. Nil if there is no such file, or it is no
    /// store.
    package static func schema(ofSQLiteAt path: String) -> Int? {
        guard let connection = try? SQLiteConnection(path: path, writes: false) else { return nil }
        defer { connection.close() }
        return try? SQLiteMigrations.newest(in: connection)
    }
}
