// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

/// `ats check --history` and `ats history` as a user runs them.
@Suite("Fleets: history") struct FleetHistoryTests {
    @Test func whatChangedIsPrinted() throws {
        let folder = try TemporaryDirectory()
        let file = folder.path("fleet.sqlite")
        var port: HeldPort? = try HeldPort()
        let number = try #require(port?.port)
        let check = [
            "ats", "check", "127.0.0.1:\(number)", "127.0.0.2:9", "--history", file, "--no-http", "--format", "jsonl",
        ]
        #expect(try ProgramRun(check + ["--at", "2026-11-20T12:00:00Z"]).status == 2)
        // The port is refused in the first run; in the second a server closes each connection.
        port = nil
        _ = port
        let server = try AskedServer(port: number)
        let second = try ProgramRun(check.dropLast() + ["html", "--at", "2026-11-21T12:00:00Z"])
        #expect(second.status == 2 && second.output.contains("<h2>Since the previous run</h2>"), "\(second.errors)")
        #expect(second.output.contains("<td>cause</td><td data-of=\"before\"><code>ats.net.refused</code></td>"))
        withExtendedLifetime(server) {}

        let text = try ProgramRun(["ats", "history", file])
        #expect(text.status == 0, "\(text.errors)")
        let lines = text.output.split(separator: "\n").map(String.init)
        #expect(lines.count == 3 && lines.first == "https://127.0.0.1:\(number)/", "\(lines)")
        #expect(
            lines.dropFirst().first?.hasPrefix("  2026-11-21T12:00:00Z  cause  ats.net.refused -> ats.net.") == true)
        #expect(lines.last == "1 of 2 targets changed in 2 runs from 2026-11-20T12:00:00Z to 2026-11-21T12:00:00Z")
        let json = try ProgramRun(["ats", "history", file, "--format", "json"])
        #expect(json.string("schema") == "sealward.ats-history/1" && json.json["runs"] as? Int == 2)
        let targets = try #require(json.json["targets"] as? [[String: Any]])
        #expect(targets.map { ($0["changes"] as? [Any])?.count } == [1, 0])
        let page = try ProgramRun(["ats", "history", file, "--format", "html"])
        #expect(page.output.contains("<svg class=\"course\"") && page.output.contains("ats.net.refused"))
        #expect(!page.output.contains("<script"))
        let later = try ProgramRun(["ats", "history", file, "--since", "2026-11-22T00:00:00Z"])
        #expect(later.output.hasPrefix("0 of 2 targets changed"))
        let kept = try ProgramRun(["ats", "history", file, "--keep", "36500"])
        #expect(kept.output == text.output && kept.errors.isEmpty)
    }

    /// Another system may judge otherwise; between its runs and the others there is no course.
    @Test func onlyRunsThatWereAskedTheSameAreDrawn() throws {
        let folder = try TemporaryDirectory()
        let file = folder.path("fleet.sqlite")
        for (os, day) in [("ios18", 17), ("macos26", 18), ("ios18", 19), ("macos26", 20), ("ios18", 21)] {
            let run = try ProgramRun([
                "ats", "check", "127.0.0.1:9", "--no-http", "--history", file, "--os", os, "--at",
                "2026-11-\(day)T12:00:00Z",
            ])
            #expect(run.status == 2)
        }
        let page = try ProgramRun(["ats", "history", file, "--format", "html"]).output
        let days = page.matches(of: /<title>2026-11-([0-9]+) UNDETERMINED/).map { String($0.output.1) }
        #expect(days == ["17", "19", "21"], "\(page)")
    }

    /// What a command reads or keeps is never overwritten by what it prints, whatever name leads there.
    @Test func noFileOfACommandIsItsOutput() throws {
        let folder = try TemporaryDirectory()
        let (history, list, lines) = (folder.path("h"), folder.path("list"), folder.path("lines"))
        try "127.0.0.1:9\n".write(toFile: list, atomically: true, encoding: .utf8)
        let check = ["ats", "check", "--no-http", "--targets-from", list]
        #expect(try ProgramRun(check + ["--history", history, "--format", "jsonl", "--output", lines]).status == 2)
        try FileManager.default.linkItem(atPath: history, toPath: folder.path("other"))
        try FileManager.default.createSymbolicLink(atPath: folder.path("link"), withDestinationPath: lines)
        let before = try [history, list, lines].map { try Data(contentsOf: URL(fileURLWithPath: $0)) }
        for words in [
            check + ["--history", history, "--output", history],
            check + ["--history", history, "--output", folder.path("other")],
            check + ["--output", list], check + ["--state", folder.path("s"), "--output", folder.path("s")],
            check + ["--history", folder.path("new"), "--output", folder.path("new")],
            ["ats", "history", history, "--output", history], ["ats", "merge", lines, "--output", folder.path("link")],
        ] {
            let run = try ProgramRun(words)
            #expect(run.status == 2 && run.errors.contains("that this command uses itself"), "\(words) \(run.errors)")
        }
        // A file that the shell puts in the place of standard input is one that the command reads.
        for words in ["ats merge -", "ats check --no-http --targets-from -"] {
            let script = "exec \"$1\" \(words) --output \"$2\" < \"$2\""
            let file = words.contains("merge") ? lines : list
            let shell = URL(fileURLWithPath: "/bin/bash")
            let run = try ProgramRun(shell, ["-c", script, "bash", BuiltProgram.url.path, file])
            #expect(run.status == 2 && run.errors.contains("that this command uses itself"), "\(words) \(run.errors)")
        }
        #expect(try [history, list, lines].map { try Data(contentsOf: URL(fileURLWithPath: $0)) } == before)
        #expect(try ProgramRun(["ats", "history", folder.path("typo"), "--keep", "3"]).status == 2)
        #expect(!FileManager.default.fileExists(atPath: folder.path("typo")))
    }

    /// A program that holds the history keeps nobody from the results, and the document has an end.
    @Test func aHistoryInUseDoesNotEndTheCheck() throws {
        let folder = try TemporaryDirectory()
        let (history, output) = (folder.path("h"), folder.path("o"))
        let check = [
            "ats", "check", "--no-http", "127.0.0.1:9", "127.0.0.2:9", "--history", history, "--format", "json",
        ]
        #expect(try ProgramRun(check).status == 2)
        // As a backup does, or a shell in the middle of a transaction.
        let script = """
            import sqlite3,sys; c=sqlite3.connect(sys.argv[1],isolation_level=None); c.execute('BEGIN')
            c.execute('SELECT * FROM runs').fetchall(); print('held', flush=True); sys.stdin.read()
            """
        let holder = Process()
        holder.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        holder.arguments = ["python3", "-c", script, history]
        let (input, said) = (Pipe(), Pipe())
        (holder.standardInput, holder.standardOutput) = (input, said)
        try holder.run()
        try #require(!said.fileHandleForReading.availableData.isEmpty)
        let run = try ProgramRun(check + ["--output", output])
        try input.fileHandleForWriting.close()
        holder.waitUntilExit()
        #expect(run.status == 2 && run.errors.contains("is in use by another program"), "\(run.errors)")
        let document = try JSONSerialization.jsonObject(with: Data(contentsOf: URL(fileURLWithPath: output)))
        #expect(((document as? [String: Any])?["targets"] as? [Any])?.count == 2)
    }

    @Test func aFileThatCannotBeReadToItsEndGivesNoHalfOfADocument() throws {
        let folder = try TemporaryDirectory()
        let file = folder.path("h")
        #expect(
            try ProgramRun(["ats", "check", "127.0.0.1:9", "127.0.0.2:9", "--no-http", "--history", file]).status == 2)
        let script = """
            import sqlite3, sys
            with sqlite3.connect(sys.argv[1]) as file:
                file.execute("UPDATE results SET verdict = 'x' WHERE target = (SELECT max(target) FROM results)")
            """
        let change = try ProgramRun(URL(fileURLWithPath: "/usr/bin/env"), ["python3", "-c", script, file])
        try #require(change.status == 0, "\(change.errors)")
        for format in ["text", "json", "html"] {
            let run = try ProgramRun(["ats", "history", file, "--format", format])
            #expect(run.status == 2 && run.output.isEmpty && run.errors.contains("unknown verdict"), "\(run.output)")
        }
    }

    @Test func fourFaultsInASentenceEach() throws {
        let folder = try TemporaryDirectory()
        func run(_ name: String) throws -> ProgramRun { try ProgramRun(["ats", "history", folder.path(name)]) }
        try "nothing of a database in this file, whatever its name says".write(
            toFile: folder.path("text.sqlite"), atomically: true, encoding: .utf8)
        for (name, words) in [
            ("text.sqlite", "not an SQLite database"), ("absent", "there is no such file"), (".", "folder"),
        ] {
            let run = try run(name)
            #expect(run.status == 2 && run.output.isEmpty && run.errors.contains(words), "\(run.errors)")
            #expect(run.errors.split(separator: "\n").count == 1)
        }
        #expect(try ProgramRun(["ats", "history", folder.path("x"), "--keep", "0"]).status == 64)
        #expect(try ProgramRun(["ats", "check", "a.example", "--keep", "3"]).status == 64)
    }

    @Test(.enabled(if: BuiltProgram.runsWithoutPrivileges)) func aHistoryThatMayOnlyBeReadIsReadAndNotWritten() throws {
        let folder = try TemporaryDirectory()
        let port = try HeldPort()
        let file = folder.path("fleet.sqlite")
        let check = ["ats", "check", "127.0.0.1:\(port.port)", "--history", file, "--no-http", "--format", "jsonl"]
        _ = try ProgramRun(check)
        try FileManager.default.setAttributes([.posixPermissions: 0o400], ofItemAtPath: file)
        let (program, arguments) = BuiltProgram.unprivileged(check)
        let refused = try ProgramRun(program, arguments)
        #expect(
            refused.status == 2 && refused.output.isEmpty && refused.errors.contains("is read-only"),
            "\(refused.errors)")
        let reading = BuiltProgram.unprivileged(["ats", "history", file])
        #expect(try ProgramRun(reading.program, reading.arguments).output.hasPrefix("0 of 1 targets changed in 1 run "))
    }

    @Test func aLongListIsAskedInAnOrderThatCanBeRepeated() throws {
        let port = try HeldPort()
        let targets = FleetStateTests.targets(80, port: port.port)
        func order(_ more: [String]) throws -> (hosts: [String], run: ProgramRun) {
            let run = try ProgramRun(
                ["ats", "check", "--no-http", "--format", "jsonl", "--concurrency", "1"] + more + targets)
            let hosts = run.data.split(separator: 0x0A).compactMap {
                (try? JSONSerialization.jsonObject(with: $0) as? [String: Any])?["host"] as? String
            }
            return (hosts, run)
        }
        let first = try order([])
        let seed = try #require(first.run.errors.firstMatch(of: /--seed ([0-9]+)/)?.output.1)
        let again = try order(["--seed", String(seed)])
        #expect(first.hosts == again.hosts && first.hosts.count == 80 && Set(first.hosts).count == 80)
        #expect(again.run.errors.isEmpty)
        #expect(try order(["--seed", "1"]).hosts != (try order(["--seed", "2"]).hosts))
    }
}
