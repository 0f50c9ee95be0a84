// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ATSDiagnostics
import CSQLite
import FoundationEssentials
import Glibc
import TrustStores
import Vocabulary

/// What every run of `ats check --history` found out about every target: one SQLite file. A row has a hundred bytes, where the report has ten
/// kilobytes; changes are computed when they are asked for.
///
/// It is opened by one run at a time for writing, and may be read meanwhile. Used by one task at a time.
final class HistoryFile {
    /// One target in one run.
    struct Observation: Sendable, Equatable {
        /// The time that the run judged at, in seconds since 1970: by default when it began.
        let at: Int64
        /// What the run asked: systems and dictionary. Only observations that asked the same are compared.
        let asked: String
        /// Which run it is of.
        let run: Int64
        let summary: TargetSummary
    }

    /// `SWHI`: says to SQLite's own tools, and to us, whose file it is.
    private static let application: Int64 = 0x5357_4849
    private static let version: Int64 = 2
    /// How many targets are read at once.
    private static let page = 500
    /// Bytes of one answer. Ten thousand observations of a target have three million; a file can give the same long text with each row.
    private static let answerLimit = 16 << 20

    private let path: String
    private let connection: SQLiteConnection

    /// Opens a history, or makes one with mode 0600.
    ///
    /// - Parameters:
    ///   - writes: whether the file may be changed.
    ///   - creates: whether it is made if it is not there.
    init(_ path: String, writes: Bool, creates: Bool) throws(InputFault) {
        self.path = path
        if let fault = InputFile.refusal(of: path), !creates || fault != .missing { throw fault }
        do {
            if writes { try SQLiteFile.prepare(path) { _ in } }
            connection = try HistoryFile.connection(path, writes: writes)
        } catch {
            throw InputFault(error, path: path)
        }
        do {
            try check(writes: writes)
        } catch {
            connection.close()
            throw InputFault(error, path: path)
        }
    }

    /// Opens the file, and for reading never writes to it: of one that a killed run left half written a copy is completed and read.
    private static func connection(_ path: String, writes: Bool) throws -> SQLiteConnection {
        try refuseLog(of: path)
        let connection = try SQLiteConnection(path: path, writes: writes, answerLimit: answerLimit)
        if writes { return connection }
        do {
            _ = try connection.value("PRAGMA user_version")
            return connection
        } catch let failure as SQLiteFailure where failure.code == SQLiteFailure.interruptedWrite {
            connection.close()
            return try completedCopy(of: path)
        }
    }

    /// SQLite writes a log in WAL mode also for who only reads, and takes one that lies beside the file for its own. No check makes one.
    private static func refuseLog(of path: String) throws {
        let place = SystemFile.resolved(path) ?? path
        let descriptor = SystemFile.open(place, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        defer { if descriptor >= 0 { Glibc.close(descriptor) } }
        // File format 1.3: the versions for writing and reading are 2 in WAL mode.
        let versions = descriptor >= 0 ? SystemFile.read(descriptor, at: 18, count: 2).bytes : []
        guard SystemFile.status(of: place + "-wal", followingLinks: false) != nil || versions.contains(2) else {
            return
        }
        throw InputFault(
            "is in SQLite's WAL mode or has a -wal beside it, which no check makes; \(wayOutOfLog)")
    }

    private static let wayOutOfLog =
        "if it is yours, run: sqlite3 FILE 'PRAGMA journal_mode = DELETE'; if it is not, do not use it"

    /// A copy in which SQLite has taken back what a killed run left. It has no name any more, so it is gone with its connection.
    private static func completedCopy(of path: String) throws -> SQLiteConnection {
        let files = FileManager.default
        let place = SystemFile.resolved(path) ?? path
        let folder = files.temporaryDirectory.appendingPathComponent("sealward-\(UUID().uuidString)").path
        guard SystemFile.makeFolder(folder) else {
            throw InputFault(
                "was left by a run that was stopped while it wrote, and \(folder) cannot be made for a copy")
        }
        defer { try? files.removeItem(atPath: folder) }
        for suffix in ["", "-journal"] {
            try files.copyItem(atPath: place + suffix, toPath: folder + "/copy" + suffix)
            try files.setAttributes([.posixPermissions: 0o600], ofItemAtPath: folder + "/copy" + suffix)
        }
        let connection = try SQLiteConnection(path: folder + "/copy", writes: true, answerLimit: answerLimit)
        _ = try connection.value("PRAGMA user_version")
        return connection
    }

    deinit { connection.close() }

    /// The file and those that SQLite keeps beside it.
    static func files(of path: String) -> [String] { ["", "-journal", "-wal", "-shm"].map { path + $0 } }

    private func check(writes: Bool) throws {
        let isEmpty = try connection.value("SELECT count(*) FROM sqlite_schema") == .integer(0)
        guard case .integer(let application)? = try connection.value("PRAGMA application_id"),
            case .integer(let version)? = try connection.value("PRAGMA user_version")
        else { throw InputFault("does not answer as SQLite does") }
        if isEmpty, application == 0, version == 0 {
            guard writes else { throw InputFault("is empty; 'ats check --history' fills it") }
            try connection.run(script: "PRAGMA synchronous = FULL")
            return try change(by: HistoryFile.schema, from: 0, "PRAGMA user_version")
        }
        guard application == HistoryFile.application else {
            throw InputFault("is the database of another program; name a file that 'ats check --history' wrote")
        }
        guard version <= HistoryFile.version else {
            throw InputFault(
                "has format \(version) of a newer sealward; this one reads up to \(HistoryFile.version), so use the newer one"
            )
        }
        try connection.run(script: "PRAGMA synchronous = FULL; PRAGMA trusted_schema = OFF")
        // A hostile file may have other objects in place of the tables: a view can give rows without end, and a computed column
        // values as long as it likes.
        let tables = """
            SELECT name FROM pragma_table_list
            WHERE schema = 'main' AND type = 'table' AND name IN ('runs', 'targets', 'results')
            """
        let others = "SELECT count(*) FROM sqlite_schema WHERE type IN ('view', 'trigger')"
        let computed = "SELECT count(*) FROM (\(tables)) AS t, pragma_table_xinfo(t.name) AS c WHERE c.hidden <> 0"
        guard try connection.value("SELECT count(*) FROM (\(tables))") == .integer(3),
            try connection.value(others) == .integer(0), try connection.value(computed) == .integer(0)
        else {
            throw InputFault(
                "lacks tables of a history, or has views, triggers or computed columns, which are not read; remove those"
            )
        }
        guard writes else { return }
        if version < 2 { try change(by: HistoryFile.second, from: version, "PRAGMA user_version") }
        // A run's start has its own column because the judged time can differ. A program that does not know the column reads and writes
        // the file as before, so its version stays.
        let column = "SELECT count(*) FROM pragma_table_info('runs') WHERE name = 'began'"
        if try connection.value(column) == .integer(0) { try change(by: HistoryFile.beginning, from: 0, column) }
    }

    /// Brings the file forward, unless another run was first and a question has another answer now.
    private func change(by script: String, from old: Int64, _ question: String) throws {
        try connection.transaction {
            if try connection.value(question) == .integer(old) { try connection.run(script: script) }
        }
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
        \(beginning);
        \(second)
        """
    /// Version 2: a run that is taken up again is the same run.
    private static let second = """
        ALTER TABLE runs ADD COLUMN token TEXT;
        CREATE UNIQUE INDEX runs_token ON runs (token) WHERE token IS NOT NULL;
        PRAGMA user_version = \(version);
        """
    private static let beginning = "ALTER TABLE runs ADD COLUMN began INTEGER"

    // MARK: - Writing

    /// Begins a run, or takes up the one with the same token.
    ///
    /// - Parameters:
    ///   - instant: the time that the run judges at.
    ///   - start: when it really began, which decides how long it is kept.
    ///   - asked: what it asks of every target; only runs that ask the same are compared.
    ///   - token: what a run that is taken up again has in common with itself; nil for one that cannot be.
    /// - Returns: its number, for ``append(_:to:)``.
    func begin(at instant: Date, start: Date, asked: String, token: String? = nil) throws(InputFault) -> Int64 {
        try guarded {
            let row = try connection.run(
                """
                INSERT INTO runs (at, systems, token, began) VALUES ($1, $2, $3, $4)
                ON CONFLICT (token) WHERE token IS NOT NULL DO UPDATE SET token = excluded.token RETURNING id
                """, .integer(HistoryFile.seconds(instant)), .text(asked), .optional(token),
                .integer(HistoryFile.seconds(start))
            ).rows.first
            guard let id = try row?.integer(0) else { throw InputFault("gave a run no number") }
            return id
        }
    }

    /// Appends what is known of some targets, all or nothing.
    func append(_ results: [(target: String, summary: TargetSummary)], to run: Int64) throws(InputFault) {
        try guarded {
            try connection.transaction {
                for (target, summary) in results {
                    try connection.run("INSERT OR IGNORE INTO targets (name) VALUES ($1)", .text(target))
                    try connection.run(
                        """
                        INSERT OR REPLACE INTO results (target, run, verdict, cause, certificate, not_after, key_group)
                        SELECT id, $2, $3, $4, $5, $6, $7 FROM targets WHERE name = $1
                        """, .text(target), .integer(run), .text(summary.verdict.rawValue), .optional(summary.cause),
                        .optional(summary.certificate), .optional(summary.notAfter), .optional(summary.group))
                }
            }
        }
    }

    private static func seconds(_ instant: Date) -> Int64 {
        Int64(exactly: instant.timeIntervalSince1970.rounded(.down)) ?? 0
    }

    /// Runs of earlier versions say only which time they judged at.
    private static let old = "coalesce(began, at) < $1 AND id < (SELECT max(id) FROM runs)"

    /// Forgets runs that began before an instant, but never the last one, and targets that no run knows anymore.
    ///
    /// - Returns: how many runs are gone.
    func forget(before instant: Date) throws(InputFault) -> Int {
        let limit = SQLValue.integer(HistoryFile.seconds(instant))
        return try guarded {
            var gone = 0
            try connection.transaction {
                // With a clock that is wrong by years everything is old.
                let old = HistoryFile.old
                try connection.run(
                    SQLText("DELETE FROM results WHERE run IN (SELECT id FROM runs WHERE \(old))"), limit)
                gone = try connection.run(SQLText("DELETE FROM runs WHERE \(old)"), limit).changes
                try connection.run(
                    "DELETE FROM targets WHERE NOT EXISTS (SELECT 1 FROM results WHERE target = targets.id)")
            }
            return gone
        }
    }

    // MARK: - Reading

    /// How many runs there are, and the earliest and the latest time that they judged at.
    func runs() throws(InputFault) -> (count: Int, first: Int64?, last: Int64?) {
        try guarded {
            guard let row = try connection.run("SELECT count(*), min(at), max(at) FROM runs").rows.first else {
                return (0, nil, nil)
            }
            return (Int(clamping: try row.integer(0)), try row.optionalInteger(1), try row.optionalInteger(2))
        }
    }

    /// Every target in the order of its name with its observations, oldest first; few targets are in memory at once.
    func each(_ body: (_ target: String, _ observations: [Observation]) throws -> Void) throws {
        var last: [UInt8] = []
        while true {
            let names: [(id: Int64, name: String)] = try guarded {
                // By the bytes of a name: one that is no UTF-8 would be another one as text.
                let rows = try connection.run(
                    """
                    SELECT id, name, CAST(name AS BLOB) FROM targets
                    WHERE typeof(name) = 'text' AND name > CAST($1 AS TEXT) ORDER BY name LIMIT $2
                    """, .bytes(last), .integer(Int64(HistoryFile.page))
                ).rows
                last = try rows.last?.bytes(2) ?? last
                return try rows.map { (id: try $0.integer(0), name: try $0.text(1)) }
            }
            if names.isEmpty { return }
            for (id, name) in names {
                let found: [Observation] = try guarded {
                    try observations("WHERE target = $1", .integer(id), newest: HistoryFile.observationLimit)
                }
                try body(name, found)
            }
        }
    }

    /// What a run has of one target, and the run before it that asked the same: oldest first. Nothing if the run does not have the target.
    func newest(_ count: Int, of name: String, upTo run: Int64) throws(InputFault) -> [Observation] {
        try guarded {
            let found = try observations(
                "WHERE target = (SELECT id FROM targets WHERE name = $1) AND run <= $2 AND systems = (SELECT systems FROM runs WHERE id = $2)",
                .text(name), .integer(run), newest: count)
            return found.last?.run == run ? found : []
        }
    }

    /// In the order in which they were made, whatever the clock said.
    private func observations(_ filter: String, _ values: SQLValue..., newest: Int) throws -> [Observation] {
        let text = """
            SELECT at, verdict, cause, certificate, not_after, key_group, systems, run
            FROM results JOIN runs ON runs.id = results.run \(filter) ORDER BY run DESC LIMIT \(newest)
            """
        return try connection.run(SQLText(text), values).rows.reversed().map { row in
            guard let verdict = TargetSummary.Verdict(rawValue: try row.text(1)) else {
                throw InputFault("contains an unknown verdict")
            }
            return Observation(
                at: try row.integer(0), asked: try row.text(6), run: try row.integer(7),
                summary: TargetSummary(
                    verdict: verdict, cause: try row.optionalText(2), certificate: try row.optionalText(3),
                    notAfter: try row.optionalInteger(4), group: try row.optionalText(5)))
        }
    }

    /// The newest observations of a target that are read: a check every hour for a year and more.
    private static let observationLimit = 10_000

    private func guarded<Value>(_ body: () throws -> Value) throws(InputFault) -> Value {
        do {
            return try body()
        } catch {
            throw InputFault(error, path: path)
        }
    }
}

extension InputFault {
    /// What an error of the database means to a user of a history.
    fileprivate init(_ error: any Error, path: String) {
        switch error {
        case let fault as InputFault: self = fault
        case let fault as StoreFault:
            let start = path + ": "
            let isNamed = fault.reason.utf8.starts(with: start.utf8)
            self.init(isNamed ? String(fault.reason.dropFirst(start.count)) : fault.reason)
        case let failure as SQLiteFailure: self.init(InputFault.reason(failure))
        default: self.init("cannot be used (\(error))")
        }
    }

    private static func reason(_ failure: SQLiteFailure) -> String {
        switch failure.code & 0xFF {
        case SQLITE_NOTADB: "is not an SQLite database; name a file that 'ats check --history' wrote"
        case SQLITE_CORRUPT: "is damaged (\(failure.message)); restore a backup, or begin another file"
        case SQLITE_READONLY, SQLITE_PERM, SQLITE_AUTH:
            "is read-only; check the permissions of the file and its folder"
        case SQLITE_CANTOPEN: "cannot be opened; check that it exists and is readable"
        case SQLITE_TOOBIG: "contains more text than a check writes; restore a backup, or begin another file"
        case SQLITE_FULL: "cannot be written, the disk is full; make room and run the check again"
        case SQLITE_BUSY, SQLITE_LOCKED: "is in use by another program; try again when that has ended"
        default: "cannot be used: SQLite says \(failure.message) (\(failure.code))"
        }
    }
}
