// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

extension SQLiteMigrations {
    /// Brings the file to the newest schema, each step in a transaction of its own with its version number.
    static func run(_ migrations: [Migration], on connection: SQLiteConnection) throws {
        try connection.transaction {
            try connection.run(
                script: "CREATE TABLE IF NOT EXISTS schema_versions (version INTEGER PRIMARY KEY NOT NULL)")
        }
        for _ in 0...migrations.count {
            var isDone = false
            try connection.transaction {
                guard let next = try migrations.pending(after: newest(in: connection) ?? 0).first else {
                    isDone = true
                    return
                }
                try connection.run(script: next.sql)
                try connection.run(script: "INSERT INTO schema_versions (version) VALUES (\(next.version))")
            }
            if isDone { return }
        }
    }

    /// The number of the schema that a file has; nil if it has none.
    static func newest(in connection: SQLiteConnection) throws -> Int? {
        guard case .integer(let version)? = try connection.value("SELECT max(version) FROM schema_versions") else {
            return nil
        }
        return Int(exactly: version)
    }
}
