// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

extension SQLiteConnection {
    /// Brings the file to the newest schema, each step in a transaction of its own with its version number.
    func migrate(_ migrations: [Migration]) throws {
        try transaction {
            try run(
                script: "CREATE TABLE IF NOT EXISTS schema_versions (version INTEGER PRIMARY KEY NOT NULL)")
        }
        for _ in 0...migrations.count {
            var isDone = false
            try transaction {
                guard let next = try migrations.pending(after: schema() ?? 0).first else {
                    isDone = true
                    return
                }
                try run(script: next.sql)
                try run(script: "INSERT INTO schema_versions (version) VALUES (\(next.version))")
            }
            if isDone { return }
        }
    }

    /// The number of the schema that the file has; nil if it has none.
    func schema() throws -> Int? {
        guard case .integer(let version)? = try value("SELECT max(version) FROM schema_versions") else { return nil }
        return Int(exactly: version)
    }
}
