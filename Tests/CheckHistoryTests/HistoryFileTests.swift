// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ATSDiagnostics
import CheckHistory
import Foundation
import TestSupport
import Testing

/// The file of `ats check --history`.
@Suite struct HistoryFileTests {
    static func summary(_ cause: String? = nil, certificate: String = "01 aa", expiry: Int64 = 1_800_000_000)
        -> TargetSummary
    {
        TargetSummary(
            verdict: cause == nil ? .pass : .fail,
            cause: cause,
            certificate: certificate,
            notAfter: expiry,
            group: "X25519"
        )
    }

    static func day(_ number: Int) -> Date { Date(timeIntervalSince1970: 1_790_000_000 + Double(number) * 86_400) }

    /// Three runs: a certificate is renewed, then the server breaks.
    static func fill(_ path: String) throws {
        let history = try HistoryFile(path, writes: true)
        let results = [
            summary(), summary(certificate: "02 bb", expiry: 1_810_000_000),
            summary("ats.tls.version-too-low", certificate: "02 bb", expiry: 1_810_000_000),
        ]
        for (number, result) in results.enumerated() {
            let run = try history.begin(at: day(number), systems: "macos26")
            try history.append([("https://a.example/", result), ("https://b.example/", summary())], to: run)
        }
    }

    static func courses(_ path: String, since: Int64? = nil) throws -> [TargetCourse] {
        var courses: [TargetCourse] = []
        try HistoryFile(path, writes: false).each { courses.append(TargetCourse($0, $1, since: since)) }
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
        #expect(try HistoryFile(path, writes: false).runs().count == 3)
    }

    @Test func oldRunsAreForgotten() throws {
        let folder = try TemporaryDirectory()
        let path = folder.path("h.sqlite")
        try Self.fill(path)
        let history = try HistoryFile(path, writes: true)
        #expect(try history.forget(before: Self.day(1)) == 1)
        #expect(try Self.courses(path)[0].changes.map(\.field) == [.verdict, .cause])
        #expect(try history.forget(before: Self.day(9)) == 2)
        #expect(try Self.courses(path).isEmpty)
    }

    @Test func otherFilesAreRefusedInASentence() throws {
        let folder = try TemporaryDirectory()
        func reason(_ name: String, writes: Bool = true) throws -> String {
            try #require(throws: HistoryFault.self) { _ = try HistoryFile(folder.path(name), writes: writes) }.reason
        }
        func sqlite(_ name: String, _ script: String) throws {
            try #require(
                try ProgramRun(
                    URL(fileURLWithPath: "/usr/bin/env"),
                    ["python3", "-c", Self.python, folder.path(name), script]
                ).status == 0
            )
        }
        try "not a database, but long enough to have a header of its own".write(
            toFile: folder.path("text"),
            atomically: true,
            encoding: .utf8
        )
        #expect(try reason("text").contains("not an SQLite database"))
        try sqlite("other", "CREATE TABLE a (b); PRAGMA user_version = 1")
        #expect(try reason("other").contains("another program"))
        try Self.fill(folder.path("newer"))
        try sqlite("newer", "PRAGMA user_version = 7")
        #expect(try reason("newer").contains("newer sealward"))
        try Self.fill(folder.path("damaged"))
        try sqlite("damaged", "DROP TABLE runs; CREATE TABLE runs (x)")
        #expect(throws: HistoryFault.self) { _ = try HistoryFile(folder.path("damaged"), writes: false).runs() }
        #expect(try reason("absent", writes: false).contains("no such file"))
        try Data().write(to: URL(fileURLWithPath: folder.path("empty")))
        #expect(try reason("empty", writes: false).contains("is empty"))
        #expect(try reason(".").contains("folder"))
        let before = try Data(contentsOf: URL(fileURLWithPath: folder.path("other")))
        #expect(throws: HistoryFault.self) { _ = try HistoryFile(folder.path("other"), writes: true) }
        #expect(try Data(contentsOf: URL(fileURLWithPath: folder.path("other"))) == before)
    }

    private static let python =
        "import sqlite3,sys; c=sqlite3.connect(sys.argv[1]); c.executescript(sys.argv[2]); c.close()"
}
