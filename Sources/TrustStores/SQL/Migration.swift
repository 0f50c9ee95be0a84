// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

/// One step from one schema to the next; steps only go forward, and a released one is never edited.
///
/// Each is a file `Migrations/NNNN-title.sql` for both kinds of database, which the build puts into the program, so that it runs from anywhere.
package struct Migration: Sendable {
    /// Counts from 1.
    package let version: Int
    /// The name of the file without its ending.
    package let name: String
    package let sql: String
}

extension [Migration] {
    /// Every step for SQLite, oldest first.
    package static let sqlite = files { $0.sqlite }
    /// Every step for PostgreSQL, oldest first.
    package static let postgres = files { $0.postgres }

    private typealias Word = (name: String, sqlite: String, postgres: String)

    /// The words in braces of the files, in both dialects.
    private static let words: [Word] = [
        ("integer", "INTEGER", "BIGINT"), ("bytes", "BLOB", "BYTEA"),
        ("serial", "INTEGER PRIMARY KEY AUTOINCREMENT", "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY"),
        ("by-key", " WITHOUT ROWID", ""),
        // Room on each page, so that a counter moves without touching an index.
        ("by-key-with-room", " WITHOUT ROWID", " WITH (fillfactor = 80)"),
        // A view of two sources is not updatable by itself, and reads through it still use the indexes.
        ("read-only", "", " CROSS JOIN (VALUES (1)) AS read_only (mark)"),
        (
            "place-of-grant", #"instr(answer, CAST('"granted":true' AS BLOB))"#,
            #"position(convert_to('"granted":true', 'UTF8') IN answer)"#
        ),
    ]

    private static func files(_ spelling: (Word) -> String) -> [Migration] {
        let files = [
            ("0001-first", PackageResources._001_first_sql), ("0002-operators", PackageResources._002_operators_sql),
            ("0003-quotas", PackageResources._003_quotas_sql), ("0004-terms", PackageResources._004_terms_sql),
            ("0005-revocations", PackageResources._005_revocations_sql),
            ("0006-audit", PackageResources._006_audit_sql),
        ]
        return zip(1..., files).map { version, file in
            let sql = words.reduce(String(decoding: file.1, as: UTF8.self)) { text, word in
                text.replacing("{\(word.name)}", with: spelling(word))
            }
            return Migration(version: version, name: file.0, sql: sql)
        }
    }

    /// The schema after all steps.
    package var newest: Int { map(\.version).max() ?? 0 }

    /// The steps that a store at `version` still needs.
    ///
    /// - Throws: `store.newer` if the store was written by a later program.
    package func pending(after version: Int) throws -> [Migration] {
        guard version <= newest else {
            throw StoreFault(
                code: .storeNewer,
                reason: "the store has schema \(version), this program supports up to \(newest); use a newer program")
        }
        return filter { $0.version > version }.sorted { $0.version < $1.version }
    }

    /// Refuses a store that a command of an operator would have to change first, which only the start of a service does.
    ///
    /// - Parameter version: the schema that the store has; nil for a database without a store.
    /// - Throws: `store.configuration`; `store.newer` as ``pending(after:)``.
    package func requireNonePending(after version: Int?) throws {
        guard let version else {
            throw StoreFault.configuration(
                "the database has no store of sealward; name the one that 'sealward serve' uses")
        }
        guard try pending(after: version).isEmpty else {
            throw StoreFault.configuration(
                "the store has schema \(version), this program's is \(newest); back it up and start 'sealward serve' with it once, or use the program that wrote it"
            )
        }
    }
}
