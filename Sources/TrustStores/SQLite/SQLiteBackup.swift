// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import Vocabulary

extension SQLTrustStore {
    /// Copies a SQLite store, which may be in use, to a new file with mode 0600, as it was at one instant.
    ///
    /// The copy gets its tables from the migrations and its rows from the store, so that secrets that are left out were never in it. It is
    /// written beside `file` and gets its name when it is whole; whatever fails leaves nothing.
    ///
    /// - Returns: the schema of the store, which the copy has too.
    /// - Throws: ``StoreFault``; `store.configuration` if there is a file of that name.
    package static func backUp(sqliteAt path: String, to file: String, withSecrets: Bool) throws -> Int {
        let schema = try schema(ofExistingSQLiteAt: path)
        _ = try [Migration].sqlite.pending(after: schema)
        guard SystemFile.status(of: file, followingLinks: false) == nil else { throw exists(file) }
        let part = file + ".part-" + UUID().uuidString
        let descriptor = SystemFile.open(part, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC)
        guard descriptor >= 0 else { throw unwritable(file, errno) }
        fchmod(descriptor, 0o600)
        Glibc.close(descriptor)
        defer { SystemFile.remove(part) }
        do {
            let copy = try SQLiteConnection(path: part, writes: true)
            defer { copy.close() }
            try copy.fill(from: path, schema: schema, withSecrets: withSecrets)
        } catch {
            throw StoreFault(sqlite: error, path: path)
        }
        let number = SystemFile.name(part, file)
        guard number == 0 else { throw number == EEXIST ? exists(file) : unwritable(file, number) }
        return schema
    }

    private static func exists(_ file: String) -> StoreFault {
        .configuration("\(file): exists already, and a backup replaces no file; choose another name")
    }

    private static func unwritable(_ file: String, _ number: CInt) -> StoreFault {
        .configuration("\(file): cannot be written (\(SystemFile.message(number))); choose another place")
    }
}

extension SQLiteConnection {
    /// Makes this empty file a copy of a store.
    fileprivate func fill(from path: String, schema: Int, withSecrets: Bool) throws {
        // A copy that is not whole is removed, so it needs no journal, which would contain its rows once more.
        try run(script: "PRAGMA main.journal_mode = OFF; PRAGMA main.synchronous = FULL")
        try migrate([Migration].sqlite.filter { $0.version <= schema })
        try run("ATTACH $1 AS source", .text(path))
        // Not `transaction`, which would lock the store for writing as well.
        try run(script: "BEGIN")
        guard try value("SELECT max(version) FROM source.schema_versions") == .integer(Int64(schema)) else {
            throw StoreFault.unavailable("the store was migrated meanwhile; try again")
        }
        let names = try run(
            "SELECT name FROM main.sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite!_%' ESCAPE '!'"
        ).rows.map { try $0.text(0) }
        // With its last numbers, so that none is given twice.
        for name in names + ["sqlite_sequence"] {
            try run(script: "DELETE FROM main.\"\(name)\"")
            if !withSecrets, StoreSecrets.everyTable.contains(name) { continue }
            guard try isTable(name, in: "source") else { throw StoreFault.damaged("\(path): has no table \(name)") }
            try run(script: "INSERT INTO main.\"\(name)\" SELECT * FROM source.\"\(name)\"")
        }
        try run(script: "COMMIT")
    }
}
