// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import GRDB
import TrustStores

extension SQLiteMigrations {
    /// Brings the file to the newest schema, each step in a transaction of its own with its version number.
    static func run(_ migrations: [Migration], on database: Database) throws {
        try database.inTransaction(.immediate) {
            try database.execute(
                sql: "CREATE TABLE IF NOT EXISTS schema_versions (version INTEGER PRIMARY KEY NOT NULL)"
            )
            return .commit
        }
        for _ in 0...migrations.count {
            var isDone = false
            try database.inTransaction(.immediate) {
                let version = try Int.fetchOne(database, sql: "SELECT max(version) FROM schema_versions") ?? 0
                guard let next = try migrations.pending(after: version).first else {
                    isDone = true
                    return .commit
                }
                try database.execute(sql: next.sql)
                try database.execute(
                    sql: "INSERT INTO schema_versions (version) VALUES (?)",
                    arguments: [next.version]
                )
                return .commit
            }
            if isDone { return }
        }
    }
}
