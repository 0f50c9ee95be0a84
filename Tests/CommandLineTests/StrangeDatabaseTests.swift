// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

/// SQLite files of strangers, as they come out of a cache of CI, a pull request or an attachment: what lies beside them is never carried out.
@Suite struct StrangeDatabaseTests {
    private let folder: TemporaryDirectory
    private let store: String
    private let history: String

    init() async throws {
        folder = try TemporaryDirectory()
        (store, history) = (folder.path("s.sqlite"), folder.path("h.sqlite"))
        #expect(try ProgramRun(["init", folder.path("trust")]).status == 0)
        let service = try await ListeningProgram(
            ["serve", "--config", folder.path("trust/sealward.json")], in: folder,
            environment: ["SEALWARD_STORE": "sqlite:" + store, "SEALWARD_LISTEN": "127.0.0.1:0"])
        #expect(service.stop() == 0)
        _ = try ProgramRun(["ats", "check", "127.0.0.1:9", "--history", history, "--connect-timeout", "1"])
    }

    private func commands(_ store: String, _ history: String) -> [[String]] {
        [
            ["ats", "history", history], ["ats", "history", history, "--keep", "1"],
            ["ats", "check", "127.0.0.1:9", "--history", history, "--connect-timeout", "1"],
            ["store", "check", "--store", "sqlite:" + store], ["keys", "list", "--store", "sqlite:" + store],
            ["audit", "--store", "sqlite:" + store],
        ]
    }

    @Test func aJournalThatNamesAFileIsRefused() throws {
        let victim = folder.path("victim")
        try "work of somebody".write(toFile: victim, atomically: true, encoding: .utf8)
        for path in [store, history] { try CraftedJournal.write(beside: path, naming: victim) }
        let before = try CraftedJournal.files(in: folder.url)
        let serve = ["serve", "--config", folder.path("trust/sealward.json")]
        for command in commands(store, history) + [serve] {
            let run = try ProgramRun(
                command, environment: ["SEALWARD_STORE": "sqlite:" + store, "SEALWARD_LISTEN": "127.0.0.1:0"])
            #expect(run.status != 0 && run.status != 1, "\(command)")
            #expect(run.errors.contains("names another file, which SQLite would delete"), "\(command): \(run.errors)")
            #expect(FileManager.default.fileExists(atPath: victim), "\(command)")
        }
        #expect(try CraftedJournal.files(in: folder.url) == before)
    }

    /// Nobody waits for somebody to write into a pipe.
    @Test(arguments: ["", "-wal", "-shm", "-journal"]) func aPipeIsNoStore(_ suffix: String) throws {
        let path = folder.path("pipe.sqlite")
        if !suffix.isEmpty { try FileManager.default.copyItem(atPath: store, toPath: path) }
        #expect(mkfifo(path + suffix, 0o600) == 0)
        for command in [
            ["store", "check", "--store", "sqlite:" + path], ["keys", "list", "--store", "sqlite:" + path],
            ["audit", "--store", "sqlite:" + path],
            ["store", "backup", folder.path("copy.sqlite"), "--store", "sqlite:" + path],
            ["serve", "--config", folder.path("trust/sealward.json")],
        ] {
            let run = try ProgramRun(
                command, environment: ["SEALWARD_STORE": "sqlite:" + path, "SEALWARD_LISTEN": "127.0.0.1:0"])
            #expect(run.status == 2, "\(command)")
            #expect(run.errors.contains("is not a regular file"), "\(command): \(run.errors)")
        }
    }

    /// A database of another program gets none of our tables, and its log stays as it is.
    @Test(arguments: ["", "-wal"]) func anotherDatabaseStaysAsItIs(_ suffix: String) throws {
        let other = folder.path("other.sqlite")
        try FileManager.default.copyItem(atPath: history, toPath: other)
        if !suffix.isEmpty {
            let frames = Data([0x37, 0x7F, 0x06, 0x82, 0x00, 0x2D, 0xE2, 0x18] + [UInt8](repeating: 1, count: 5000))
            for path in [other, history] { try frames.write(to: URL(fileURLWithPath: path + suffix)) }
        }
        let before = try CraftedJournal.files(in: folder.url)
        for command in commands(other, suffix.isEmpty ? store : history) {
            let run = try ProgramRun(command)
            #expect(run.status != 0 && run.status != 1, "\(command)")
            let words = ["is no store of sealward", "WAL mode", "another program"]
            #expect(words.contains { run.errors.contains($0) }, "\(command): \(run.errors)")
        }
        let after = try CraftedJournal.files(in: folder.url).filter { !$0.key.hasSuffix("-shm") }
        #expect(after == before.filter { !$0.key.hasSuffix("-shm") })
    }
}
