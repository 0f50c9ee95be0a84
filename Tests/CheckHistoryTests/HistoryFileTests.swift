// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ATSDiagnostics
import Foundation
import TestSupport
import Testing
import Vocabulary

@testable import sealward

/// The file of `ats check --history`.
@Suite struct HistoryFileTests {
    static func summary(
        _ cause: String? = nil, certificate: String = "01 aa", expiry: Int64 = 1_800_000_000
    )
        -> TargetSummary
    {
        TargetSummary(
            verdict: cause == nil ? .pass : .fail, cause: cause, certificate: certificate, notAfter: expiry,
            group: "X25519")
    }

    static func day(_ number: Int) -> Date { Date(timeIntervalSince1970: 1_790_000_000 + Double(number) * 86_400) }

    /// Three runs: a certificate is renewed, then the server breaks.
    static func fill(_ path: String) throws {
        let history = try HistoryFile(path, writes: true, creates: true)
        let results = [
            summary(), summary(certificate: "02 bb", expiry: 1_810_000_000),
            summary("ats.tls.version-too-low", certificate: "02 bb", expiry: 1_810_000_000),
        ]
        for (number, result) in results.enumerated() {
            let run = try history.begin(at: day(number), start: day(number), asked: "macos26")
            try history.append([("https://a.example/", result), ("https://b.example/", summary())], to: run)
        }
    }

    static func courses(_ path: String, since: Int64? = nil) throws -> [TargetHistory] {
        var courses: [TargetHistory] = []
        try HistoryFile(path, writes: false, creates: false).each {
            courses.append(TargetHistory($0, $1, since: since))
        }
        return courses
    }

    @Test func changesAreFoundBetweenRuns() throws {
        let folder = try TemporaryDirectory()
        let path = folder.path("h.sqlite")
        try Self.fill(path)
        #expect(try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int == 0o600)
        let courses = try Self.courses(path)
        #expect(courses.map(\.target) == ["https://a.example/", "https://b.example/"])
        #expect(courses[0].changes.map(\.field) == [.certificate, .expiry, .verdict, .cause])
        #expect(courses[0].changes.last?.after == "ats.tls.version-too-low")
        #expect(courses[1].changes.isEmpty && courses[1].text.isEmpty)
        let late = try Self.courses(path, since: Int64(Self.day(2).timeIntervalSince1970))
        #expect(late[0].changes.map(\.field) == [.verdict, .cause])
        #expect(try HistoryFile(path, writes: false, creates: false).runs().count == 3)
    }

    @Test func oldRunsAreForgotten() throws {
        let folder = try TemporaryDirectory()
        let path = folder.path("h.sqlite")
        try Self.fill(path)
        let history = try HistoryFile(path, writes: true, creates: true)
        #expect(try history.forget(before: Self.day(1)) == 1)
        #expect(try Self.courses(path)[0].changes.map(\.field) == [.verdict, .cause])
        // With a clock that is wrong by years everything is old: the last run stays.
        #expect(try history.forget(before: Self.day(9)) == 1)
        #expect(try Self.courses(path).map(\.observations.count) == [1, 1])
        #expect(try history.forget(before: Self.day(9)) == 0)
    }

    /// `--keep` counts from when a run began, whatever time it judged at; a file without that column gets it, and its runs go by the time that they
    /// judged at.
    @Test func runsAreKeptByTheirBeginning() throws {
        let folder = try TemporaryDirectory()
        let path = folder.path("h.sqlite")
        func begin(at judged: Int, start: Int) throws {
            let history = try HistoryFile(path, writes: true, creates: true)
            let run = try history.begin(at: Self.day(judged), start: Self.day(start), asked: "macos26")
            try history.append([("https://a.example/", Self.summary())], to: run)
        }
        func kept() throws -> [Int64] { try Self.courses(path)[0].observations.map(\.at) }
        func judged(_ days: Int...) -> [Int64] { days.map { Int64(Self.day($0).timeIntervalSince1970) } }
        try begin(at: 1, start: 20)
        try begin(at: 25, start: 2)
        try begin(at: 3, start: 21)
        #expect(try HistoryFile(path, writes: true, creates: false).forget(before: Self.day(10)) == 1)
        #expect(try kept() == judged(1, 3))

        try Self.change(path, "ALTER TABLE runs DROP COLUMN began")
        #expect(try kept() == judged(1, 3))
        try begin(at: 0, start: 22)
        try begin(at: 0, start: 23)
        #expect(try HistoryFile(path, writes: true, creates: false).forget(before: Self.day(2)) == 1)
        #expect(try kept() == judged(3, 0, 0))
    }

    /// What another system or dictionary says is no change of the server, and the clock says nothing about which run came last.
    @Test func onlyRunsThatAskedTheSameAreComparedInTheirOrder() throws {
        let folder = try TemporaryDirectory()
        let path = folder.path("h.sqlite")
        let history = try HistoryFile(path, writes: true, creates: true)
        let name = "https://a.example/"
        func run(_ asked: String, _ day: Int, _ cause: String?) throws -> Int64 {
            let run = try history.begin(at: Self.day(day), start: Self.day(day), asked: asked)
            try history.append([(name, Self.summary(cause))], to: run)
            return run
        }
        _ = try run("ios12", 9, nil)
        _ = try run("macos26", 8, "ats.trust.lifetime")
        _ = try run("ios12", 7, nil)
        #expect(try Self.courses(path)[0].changes.isEmpty)
        let last = try run("ios12", 1, "ats.net.refused")
        let changes = try Self.courses(path)[0].changes
        #expect(changes.map(\.field) == [.verdict, .cause] && changes[0].before == "PASS")
        #expect(changes[0].at == Int64(Self.day(1).timeIntervalSince1970))
        #expect(try history.newest(2, of: name, upTo: last).map(\.summary.verdict) == [.pass, .fail])
        #expect(try history.newest(2, of: "https://b.example/", upTo: last).isEmpty)
        // A run that does not have the target changed nothing, whatever the runs before it did.
        let next = try history.begin(at: Self.day(2), start: Self.day(2), asked: "ios12")
        #expect(try history.newest(2, of: name, upTo: next).isEmpty)
    }

    @Test func aRunThatIsTakenUpAgainIsOne() throws {
        let folder = try TemporaryDirectory()
        let path = folder.path("h.sqlite")
        let history = try HistoryFile(path, writes: true, creates: true)
        let first = try history.begin(at: Self.day(1), start: Self.day(1), asked: "macos26", token: "one")
        try history.append([("https://a.example/", Self.summary())], to: first)
        let again = try history.begin(at: Self.day(5), start: Self.day(5), asked: "macos26", token: "one")
        #expect(again == first)
        try history.append([("https://a.example/", Self.summary())], to: again)
        #expect(try Self.courses(path)[0].observations.map(\.at) == [Int64(Self.day(1).timeIntervalSince1970)])
        #expect(try history.begin(at: Self.day(6), start: Self.day(6), asked: "macos26", token: "two") != first)
        #expect(
            try history.begin(at: Self.day(6), start: Self.day(6), asked: "macos26")
                != history.begin(at: Self.day(6), start: Self.day(6), asked: "macos26"))
    }

    /// Files of the first version are read as they are, and brought forward by the first run that writes.
    @Test func theFirstVersionIsReadAndBroughtForward() throws {
        let folder = try TemporaryDirectory()
        let path = folder.path("h.sqlite")
        try Self.fill(path)
        try Self.change(path, "DROP INDEX runs_token; ALTER TABLE runs DROP COLUMN token; PRAGMA user_version = 1")
        #expect(try Self.courses(path)[0].changes.count == 4)
        _ = try HistoryFile(path, writes: true, creates: false).begin(
            at: Self.day(4), start: Self.day(4), asked: "macos26", token: "a")
        #expect(try HistoryFile(path, writes: false, creates: false).runs().count == 4)
    }

    /// A name that is no UTF-8 stands before its repaired form and must not be read for ever; a view can give rows without end.
    @Test(.timeLimit(.minutes(1))) func hostileFilesEnd() throws {
        let folder = try TemporaryDirectory()
        let path = folder.path("h.sqlite")
        try Self.fill(path)
        try Self.change(path, "INSERT INTO targets (name) VALUES (CAST(x'FE' AS TEXT)), (CAST(x'FF41' AS TEXT))")
        #expect(try Self.courses(path).count == 4)
        let view = """
            ALTER TABLE targets RENAME TO others; CREATE VIEW targets AS WITH RECURSIVE x(id, name) AS
            (SELECT 1, 'a' UNION ALL SELECT id + 1, 'a' FROM x) SELECT * FROM x
            """
        try Self.change(path, view)
        #expect(throws: InputFault.self) { _ = try HistoryFile(path, writes: false, creates: false) }
    }

    /// A few bytes of a file can give rows of megabytes: computed columns are refused when it is opened, long texts when they are read.
    @Test(arguments: ["runs.systems", "targets.name", "results.verdict", "results.cause", "results.certificate"])
    func longTextsAreRefused(_ column: String) throws {
        let folder = try TemporaryDirectory()
        let path = folder.path("h.sqlite")
        try Self.fill(path)
        let parts = column.split(separator: ".")
        try Self.change(
            path, "UPDATE \(parts[0]) SET \(parts[1]) = coalesce(\(parts[1]), '') || hex(zeroblob(4000000))")
        let fault = try #require(throws: InputFault.self) { _ = try Self.courses(path) }
        #expect(fault.reason.contains("more text than a check writes"))
    }

    @Test(arguments: ["VIRTUAL", "STORED"]) func computedColumnsAreRefused(_ kind: String) throws {
        let folder = try TemporaryDirectory()
        let path = folder.path("h.sqlite")
        try Self.fill(path)
        let table = "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = replace(sql, 'certificate TEXT',"
        try Self.change(path, "\(table) 'certificate TEXT AS (hex(zeroblob(4000))) \(kind)') WHERE name = 'results'")
        let fault = try #require(throws: InputFault.self) { _ = try Self.courses(path) }
        #expect(fault.reason.contains("computed columns"))
    }

    /// A run that is killed while it writes leaves half a transaction, which the next reader takes back.
    @Test func halfATransactionIsTakenBack() throws {
        let folder = try TemporaryDirectory()
        let path = folder.path("h.sqlite")
        try Self.fill(path)
        let script = """
            import sqlite3,sys,os; c=sqlite3.connect(sys.argv[1],isolation_level=None); c.execute("PRAGMA cache_size=5")
            c.execute("BEGIN IMMEDIATE")
            for i in range(20000): c.execute("INSERT INTO targets (name) VALUES (?)", ("x%d" % i,))
            os.kill(os.getpid(), 9)
            """
        _ = try ProgramRun(URL(fileURLWithPath: "/usr/bin/env"), ["python3", "-c", script, path])
        #expect(FileManager.default.fileExists(atPath: path + "-journal"))
        let left = try CraftedJournal.files(in: folder.url)
        #expect(try Self.courses(path).count == 2)
        #expect(try CraftedJournal.files(in: folder.url) == left, "who reads writes nothing")
        // The next run takes it back for good.
        #expect(try HistoryFile(path, writes: true, creates: false).runs().count == 3)
        #expect(!FileManager.default.fileExists(atPath: path + "-journal"))
    }

    /// SQLite deletes the file that a journal names, whoever opens the database.
    @Test(arguments: [true, false]) func aJournalThatNamesAFileIsRefused(_ writes: Bool) throws {
        let folder = try TemporaryDirectory()
        let path = folder.path("h.sqlite")
        try Self.fill(path)
        try Data([7]).write(to: URL(fileURLWithPath: folder.path("victim")))
        try FileManager.default.createSymbolicLink(atPath: folder.path("link"), withDestinationPath: path)
        try CraftedJournal.write(beside: path, naming: folder.path("victim"))
        let before = try CraftedJournal.files(in: folder.url)
        for path in [path, folder.path("link")] {
            let fault = try #require(throws: InputFault.self) {
                _ = try HistoryFile(path, writes: writes, creates: writes)
            }
            #expect(fault.reason.contains("names another file"), "\(fault.reason)")
        }
        #expect(try CraftedJournal.files(in: folder.url) == before)
    }

    /// In WAL mode SQLite writes also for who reads, and it believes any log that lies beside the file.
    @Test(arguments: [true, false]) func aLogIsRefused(_ isInHeader: Bool) throws {
        let folder = try TemporaryDirectory()
        let path = folder.path("h.sqlite")
        try Self.fill(path)
        if isInHeader {
            try Self.change(path, "PRAGMA journal_mode = WAL")
        } else {
            try Data(repeating: 1, count: 600).write(to: URL(fileURLWithPath: path + "-wal"))
        }
        let before = try CraftedJournal.files(in: folder.url)
        for writes in [true, false] {
            let fault = try #require(throws: InputFault.self) {
                _ = try HistoryFile(path, writes: writes, creates: writes)
            }
            #expect(fault.reason.contains("WAL mode"), "\(fault.reason)")
        }
        #expect(try CraftedJournal.files(in: folder.url) == before)
    }

    private static func change(_ path: String, _ script: String) throws {
        let run = try ProgramRun(URL(fileURLWithPath: "/usr/bin/env"), ["python3", "-c", python, path, script])
        try #require(run.status == 0, "\(run.errors)")
    }

    @Test func otherFilesAreRefusedInASentence() throws {
        let folder = try TemporaryDirectory()
        func reason(_ name: String, writes: Bool = true) throws -> String {
            try #require(throws: InputFault.self) {
                _ = try HistoryFile(folder.path(name), writes: writes, creates: writes)
            }.reason
        }
        func sqlite(_ name: String, _ script: String) throws { try Self.change(folder.path(name), script) }
        try "not a database, but long enough to have a header of its own".write(
            toFile: folder.path("text"), atomically: true, encoding: .utf8)
        #expect(try reason("text").contains("not an SQLite database"))
        try sqlite("other", "CREATE TABLE a (b); PRAGMA user_version = 1")
        #expect(try reason("other").contains("another program"))
        try Self.fill(folder.path("newer"))
        try sqlite("newer", "PRAGMA user_version = 7")
        #expect(try reason("newer").contains("newer sealward"))
        try Self.fill(folder.path("damaged"))
        try sqlite("damaged", "DROP TABLE runs; CREATE TABLE runs (x)")
        #expect(throws: InputFault.self) {
            _ = try HistoryFile(folder.path("damaged"), writes: false, creates: false).runs()
        }
        #expect(try reason("absent", writes: false).contains("no such file"))
        try Data().write(to: URL(fileURLWithPath: folder.path("empty")))
        #expect(try reason("empty", writes: false).contains("is empty"))
        #expect(try reason(".").contains("folder"))
        let before = try Data(contentsOf: URL(fileURLWithPath: folder.path("other")))
        #expect(throws: InputFault.self) { _ = try HistoryFile(folder.path("other"), writes: true, creates: true) }
        #expect(try Data(contentsOf: URL(fileURLWithPath: folder.path("other"))) == before)
    }

    private static let python =
        "import sqlite3,sys; c=sqlite3.connect(sys.argv[1]); c.executescript(sys.argv[2]); c.close()"
}
