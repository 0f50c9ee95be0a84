// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

/// What somebody sees who waits before a terminal, and what a pipe never gets.
@Suite(.enabled(if: PythonPackages.has("pty"), "needs Python's pty"))
struct ProgressTests {
    /// Runs a command whose standard error is a terminal and whose standard output is a pipe, and prints what came out of the first.
    ///
    /// `SILENT` in the command is the port of a server that says nothing.
    private static let terminal = """
        import os, pty, socket, subprocess, sys
        silent = socket.create_server(("127.0.0.1", 0), backlog=64)
        words = [word.replace("SILENT", str(silent.getsockname()[1])) for word in sys.argv[2:]]
        if sys.argv[1] == "pipe":
            print(subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=60).stderr.decode())
            sys.exit()
        master, slave = pty.openpty()
        ran = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=slave)
        os.close(slave)
        seen = b""
        while True:
            try:
                piece = os.read(master, 65536)
            except OSError:
                break
            if not piece:
                break
            seen += piece
        ran.wait(60)
        print(seen.decode())
        """

    private static let targets = [
        "https://127.0.0.1:SILENT/1", "https://127.0.0.1:SILENT/2", "https://127.0.0.1:SILENT/3",
    ]
    private static let slow = ["--allow-private", "--timeout", "0.5", "--concurrency", "1"]

    static let commands: [(words: [String], total: Int)] = [
        (["ats", "check"] + targets + slow, 3), (["ats", "minimize"] + targets + slow, 3),
        (
            [
                "simulate", "verifier-tests", "--kind", "assertion", "--command",
                "while read line; do sleep 0.02; echo '{}'; done",
            ], 0
        ),
        (["demo", "--devices", "20"], 20),
    ]

    @Test(arguments: commands)
    func aTerminalSeesHowFarItIsAndTheTimeLeft(_ words: [String], _ total: Int) throws {
        let seen = try PythonPackages.run(Self.terminal, ["terminal", BuiltProgram.url.path] + words)
        #expect(seen.contains(total == 0 ? " of " : " of \(total), about "), "\(seen)")
        #expect(seen.contains("s left"), "\(seen)")
        // At its end the line is taken away.
        #expect(
            seen.range(of: "\r\u{1B}[K", options: .backwards).map { !seen[$0.upperBound...].contains(" of ") } == true)
    }

    @Test(arguments: commands)
    func aPipeGetsNothingOfIt(_ words: [String], _ total: Int) throws {
        let seen = try PythonPackages.run(Self.terminal, ["pipe", BuiltProgram.url.path] + words)
        #expect(!seen.contains("1 of ") && !seen.contains(" left"), "\(seen)")
    }

    @Test func aFleetOfSimulatedDevicesSaysHowFarItIs() async throws {
        let folder = try TemporaryDirectory()
        let (service, apple) = (try FreePort.take(), try FreePort.take())
        let made = try ProgramRun(
            ["init", "trust", "--listen", "127.0.0.1:\(service)", "--apple", "127.0.0.1:\(apple)"], in: folder.url)
        #expect(made.status == 0, "\(made.errors)")
        let programs = [
            try await ListeningProgram(
                [
                    "simulate", "apple", "--seed-file", folder.path("trust/simulator.seed"), "--listen",
                    "127.0.0.1:\(apple)",
                ]
                    + ["--team", "SIMTEAM001:SIMKEY0001"],
                in: folder
            ), try await ListeningProgram(["serve", "--config", folder.path("trust/sealward.json")], in: folder),
        ]
        defer { for program in programs { _ = program.stop() } }
        let words = [
            BuiltProgram.url.path, "simulate", "fleet", "--service", programs[1].address, "--apple",
            programs[0].address,
            "--app", "shop", "--app-id", "SIMTEAM001.com.example.shop", "--devices", "40", "--concurrency", "1",
            "--mix", "honest=1",
        ]
        let seen = try PythonPackages.run(Self.terminal, ["terminal"] + words)
        #expect(seen.contains(" of 40, about ") && seen.contains("s left"), "\(seen)")
        #expect(seen.hasSuffix("\r\u{1B}[K\n"), "\(seen)")
        #expect(try PythonPackages.run(Self.terminal, ["pipe"] + words) == "\n")
    }

    /// How many files a tree has, nobody knows before the end.
    @Test func lintCountsTheFilesOfABigTreeAndSaysNothingOfASmallOne() throws {
        let folder = try TemporaryDirectory()
        // Longer to read than the tenth of a second in which nothing is shown, on any machine.
        let keys = (0..<100).map { "<key>Key\($0)</key><string>value</string>" }.joined()
        let list =
            "<plist version=\"1.0\"><dict><key>CFBundleIdentifier</key><string>a.b</string>\(keys)</dict></plist>"
        for number in 0..<200 {
            try list.write(toFile: folder.path("\(number)-Info.plist"), atomically: false, encoding: .utf8)
        }
        func lint(_ stream: String, _ place: String, _ more: [String] = []) throws -> String {
            try PythonPackages.run(
                Self.terminal, [stream, BuiltProgram.url.path, "ats", "lint", folder.path(place)] + more)
        }
        let seen = try lint("terminal", "")
        #expect(seen.contains(/[0-9]+ files looked at/), "\(seen)")
        #expect(seen.hasSuffix("\r\u{1B}[K\n"), "\(seen)")
        for nothing in [
            try lint("terminal", "7-Info.plist"), try lint("pipe", ""), try lint("terminal", "", ["--quiet"]),
        ] {
            #expect(nothing == "\n")
        }
    }

    @Test func quietIsQuiet() throws {
        let words = ["terminal", BuiltProgram.url.path] + Self.commands[0].words + ["--quiet"]
        #expect(try !PythonPackages.run(Self.terminal, words).contains(" of 3"))
    }
}
