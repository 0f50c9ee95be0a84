// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import CSQLite

extension SQLTrustStore {
    /// The number of the schema that a file has, without opening it as a store: nothing is migrated. Nil if there is no such file, or it is no
    /// store.
    package static func schema(ofSQLiteAt path: String) -> Int? {
        guard let connection = try? SQLiteConnection(path: path, writes: false) else { return nil }
        defer { connection.close() }
        return try? connection.schema()
    }

    /// Opens a store for an operator: never another program's database, which would get our tables, and never one whose last writer was
    /// stopped before it was a store, or that has an older schema.
    ///
    /// - Throws: ``StoreFault``, before anything is written.
    package static func existingSQLite(at path: String) throws -> SQLTrustStore {
        try [Migration].sqlite.requireNonePending(after: schema(ofExistingSQLiteAt: path))
        return try sqlite(at: path)
    }

    /// The schema of a file that is a store.
    ///
    /// - Throws: ``StoreFault`` with what the operator can do.
    static func schema(ofExistingSQLiteAt path: String) throws -> Int {
        do {
            let connection = try SQLiteConnection(path: path, writes: false)
            defer { connection.close() }
            guard let schema = try connection.schema() else {
                throw SQLiteFailure(SQLITE_ERROR, "no schema")
            }
            guard try connection.value("SELECT count(*) FROM sqlite_schema WHERE type = 'trigger'") == .integer(0)
            else {
                throw StoreFault.configuration(
                    "\(path): has triggers, which no store of sealward has and which a command would carry out; remove them"
                )
            }
            return schema
        } catch let failure as SQLiteFailure where failure.code & 0xFF == SQLITE_ERROR {
            throw StoreFault.configuration("\(path): is no store of sealward; name the file that 'sealward serve' uses")
        } catch let failure as SQLiteFailure where failure.code == SQLiteFailure.interruptedWrite {
            throw StoreFault.configuration(
                "\(path): has a -journal that must be rolled back first; start 'sealward serve' with it once")
        } catch {
            throw StoreFault(sqlite: error, path: path)
        }
    }
}

extension SQLiteConnection {
    /// Brings the file to the newest schema, each step in a transaction of its own with its version number.
    func migrate(_ migrations: [Migration]) throws {
        try transaction {
            try run(script: "CREATE TABLE IF NOT EXISTS schema_versions (version INTEGER PRIMARY KEY NOT NULL)")
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
        guard try isTable("schema_versions", in: "main") else { return nil }
        guard case .integer(let version)? = try value("SELECT max(version) FROM schema_versions") else { return nil }
        return Int(exactly: version)
    }

    /// Whether a name is that of a table. A view in its place gives rows without end.
    func isTable(_ name: String, in schema: String) throws -> Bool {
        let count: SQLText =
            "SELECT count(*) FROM pragma_table_list WHERE schema = $1 AND name = $2 AND type = 'table'"
        return try row(count, .text(schema), .text(name))?.integer(0) == 1
    }
}
