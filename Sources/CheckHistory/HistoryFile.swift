// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import ATSDiagnostics
import Findings
package import Foundation
import TrustStores
import TrustStoresSQLite

/// What every run of `ats check --history` found out about every target: one SQLite file.
///
/// It is opened by one run at a time for writing, and may be read meanwhile. Used by one task at a time.
package final class HistoryFile {
    /// One target in one run.
    package struct Observation: Sendable, Equatable {
        /// When the run began, in seconds since 1970.
        package let at: Int64
        package let summary: TargetSummary
    }

    /// `SWHI`: says to SQLite's own tools, and to us, whose file it is.
    private static let application: Int64 = 0x5357_4849
    private static let version: Int64 = 1
    /// How many targets are read at once.
    private static let page = 500

    private let path: String
    private let connection: SQLiteConnection

    /// Opens a history, or makes one with mode 0600.
    ///
    /// - Parameter writes: whether the file is made if it is not there, and may be changed.
    package init(_ path: String, writes: Bool) throws(HistoryFault) {
        self.path = path
        if let fault = InputFile.refusal(of: path), !writes || fault != .missing { throw HistoryFault(fault.reason) }
        do {
            if writes { try SQLiteFile.prepare(path) { _ in } }
            connection = try SQLiteConnection(path: path, writes: writes)
        } catch {
            throw HistoryFault(error, path: path)
        }
        do {
            try check(writes: writes)
        } catch {
            connection.close()
            throw HistoryFault(error, path: path)
        }
    }

    deinit { connection.close() }

    private func check(writes: Bool) throws {
        let isEmpty = try connection.value("SELECT count(*) FROM sqlite_schema") == .integer(0)
        guard case .integer(let application)? = try connection.value("PRAGMA application_id"),
            case .integer(let version)? = try connection.value("PRAGMA user_version")
        else { throw HistoryFault("does not answer as SQLite does") }
        if isEmpty, application == 0, version == 0 {
            guard writes else { throw HistoryFault("is empty; 'ats check --history' fills it") }
            try connection.run(script: "PRAGMA synchronous = FULL")
            try connection.transaction { try connection.run(script: HistoryFile.schema) }
            return
        }
        guard application == HistoryFile.application else {
            throw HistoryFault("is the database of another program; name a file that 'ats check --history' wrote")
        }
        guard version <= HistoryFile.version else {
            throw HistoryFault(
                "has format \(version) of a newer sealward; this one reads up to \(HistoryFile.version), so use the newer one"
            )
        }
        try connection.run(script: "PRAGMA synchronous = FULL; PRAGMA trusted_schema = OFF")
    }

    private static let schema = """
        CREATE TABLE runs (id INTEGER PRIMARY KEY, at INTEGER NOT NULL, systems TEXT NOT NULL);
        CREATE INDEX runs_at ON runs (at);
        CREATE TABLE targets (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
        CREATE TABLE results (
            target INTEGER NOT NULL, run INTEGER NOT NULL, verdict TEXT NOT NULL, cause TEXT, certificate TEXT,
            not_after INTEGER, key_group TEXT, PRIMARY KEY (target, run)
        ) WITHOUT ROWID;
        CREATE INDEX results_run ON results (run);
        PRAGMA application_id = \(application);
        PRAGMA user_version = \(version);
        """

    // MARK: - Writing

    /// Begins a run.
    ///
    /// - Returns: its number, for ``append(_:to:)``.
    package func begin(at instant: Date, systems: String) throws(HistoryFault) -> Int64 {
        let seconds = Int64(exactly: instant.timeIntervalSince1970.rounded(.down)) ?? 0
        return try guarded {
            let rows = try SQLiteSession(connection).run([
                SQLStatement(
                    "INSERT INTO runs (at, systems) VALUES ($1, $2) RETURNING id",
                    .integer(seconds),
                    .text(systems)
                )
            ])
            guard let id = try rows.first?.rows.first?.integer(0) else { throw HistoryFault("gave a run no number") }
            return id
        }
    }

    /// Appends what is known of some targets, all or nothing.
    package func append(_ results: [(target: String, summary: TargetSummary)], to run: Int64) throws(HistoryFault) {
        try guarded {
            try connection.transaction {
                let session = SQLiteSession(connection)
                for (target, summary) in results {
                    _ = try session.run([
                        SQLStatement("INSERT OR IGNORE INTO targets (name) VALUES ($1)", .text(target)),
                        SQLStatement(
                            """
                            INSERT OR REPLACE INTO results (target, run, verdict, cause, certificate, not_after, key_group)
                            SELECT id, $2, $3, $4, $5, $6, $7 FROM targets WHERE name = $1
                            """,
                            .text(target),
                            .integer(run),
                            .text(summary.verdict.rawValue),
                            .optional(summary.cause),
                            .optional(summary.certificate),
                            .optional(summary.notAfter),
                            .optional(summary.group)
                        ),
                    ])
                }
            }
        }
    }

    /// Forgets runs that began before an instant, and targets that no run knows anymore.
    ///
    /// - Returns: how many runs are gone.
    package func forget(before instant: Date) throws(HistoryFault) -> Int {
        let seconds = Int64(exactly: instant.timeIntervalSince1970.rounded(.down)) ?? 0
        return try guarded {
            var gone = 0
            try connection.transaction {
                let results = try SQLiteSession(connection).run([
                    SQLStatement(
                        "DELETE FROM results WHERE run IN (SELECT id FROM runs WHERE at < $1)",
                        .integer(seconds)
                    ),
                    SQLStatement("DELETE FROM runs WHERE at < $1", .integer(seconds)),
                    SQLStatement(
                        "DELETE FROM targets WHERE NOT EXISTS (SELECT 1 FROM results WHERE target = targets.id)"
                    ),
                ])
                gone = results.dropFirst().first?.changes ?? 0
            }
            return gone
        }
    }

    // MARK: - Reading

    /// How many runs there are, and when the first and the last began.
    package func runs() throws(HistoryFault) -> (count: Int, first: Int64?, last: Int64?) {
        try guarded {
            let row = try SQLiteSession(connection).run([SQLStatement("SELECT count(*), min(at), max(at) FROM runs")])
                .first?.rows.first
            guard let row else { return (0, nil, nil) }
            return (Int(clamping: try row.integer(0)), try row.optionalInteger(1), try row.optionalInteger(2))
        }
    }

    /// Every target in the order of its name with its observations, oldest first; few targets are in memory at once.
    package func each(_ body: (_ target: String, _ observations: [Observation]) throws -> Void) throws {
        var last = ""
        while true {
            let names: [(id: Int64, name: String)] = try guarded {
                try SQLiteSession(connection).run([
                    SQLStatement(
                        "SELECT id, name FROM targets WHERE name > $1 ORDER BY name LIMIT $2",
                        .text(last),
                        .integer(Int64(HistoryFile.page))
                    )
                ]).first?.rows.map { (id: try $0.integer(0), name: try $0.text(1)) } ?? []
            }
            if names.isEmpty { return }
            for (id, name) in names {
                let found: [Observation] = try guarded { try observations(of: id) }
                try body(name, found)
                last = name
            }
        }
    }

    /// The newest observations of one target, oldest first; none for a target that the file does not have.
    package func newest(_ count: Int, of name: String) throws(HistoryFault) -> [Observation] {
        try guarded {
            let found = try SQLiteSession(connection).run([
                SQLStatement("SELECT id FROM targets WHERE name = $1", .text(name))
            ]).first?.rows.first
            return try found.map { try observations(of: try $0.integer(0), newest: Int64(count)) } ?? []
        }
    }

    private func observations(of target: Int64, newest: Int64 = observationLimit) throws -> [Observation] {
        let rows = try SQLiteSession(connection).run([
            SQLStatement(
                """
                SELECT at, verdict, cause, certificate, not_after, key_group FROM results JOIN runs ON runs.id = results.run
                WHERE target = $1 ORDER BY at DESC, run DESC LIMIT $2
                """,
                .integer(target),
                .integer(newest)
            )
        ]).first?.rows
        return try (rows ?? []).reversed().map { row in
            guard let verdict = TargetSummary.Verdict(rawValue: try row.text(1)) else {
                throw HistoryFault("contains an unknown verdict")
            }
            return Observation(
                at: try row.integer(0),
                summary: TargetSummary(
                    verdict: verdict,
                    cause: try row.optionalText(2),
                    certificate: try row.optionalText(3),
                    notAfter: try row.optionalInteger(4),
                    group: try row.optionalText(5)
                )
            )
        }
    }

    /// The newest observations of a target that are read: a check every hour for a year and more.
    private static let observationLimit: Int64 = 10_000

    private func guarded<Value>(_ body: () throws -> Value) throws(HistoryFault) -> Value {
        do {
            return try body()
        } catch {
            throw HistoryFault(error, path: path)
        }
    }
}
