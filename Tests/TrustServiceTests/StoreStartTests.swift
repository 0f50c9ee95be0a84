// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import TestSupport
import Testing

@testable import TrustService
@testable import TrustStores
@testable import TrustStoresPostgres

/// How `sealward serve` starts if its store is not there, is not well named, or may be read by others.
@Suite(.serialized, .enabled(if: ServeProcess.isBuilt, "needs .build/release/sealward")) struct StoreStartTests {
    private func write(_ folder: URL, store: String, mode: mode_t = 0o600) throws -> String {
        let path = try ServeProcess.write(folder, store: store).path
        for name in ["server", "admin", "sealward.json"] { chmod(folder.appendingPathComponent(name).path, mode) }
        return path
    }

    @Test func aStoreThatDoesNotAnswerHasAStatusOfItsOwn() throws {
        let folder = try ServeProcess.folder()
        let url = "postgres://u:topsecret@127.0.0.1:\(try FreePort.take())/db"
        let config = try write(folder, store: url)
        let end = try ServeProcess.run(["serve", "--config", config, "--store-timeout", "1"])
        #expect(end.status == 75, "\(end.error)")
        #expect(end.error.contains("the store did not answer within 1 seconds: PostgreSQL cannot be reached"))
        #expect(end.error.contains("The store does not answer yet."))
        #expect(!end.error.contains("topsecret"))
    }

    @Test(arguments: [
        "u:top%ZZsecret@127.0.0.1/db", "u:topsecret@[::1/db", "u:top/secret@h/db", "u@h/db?password=top%Z",
    ])
    func aMalformedURLIsAWrongConfigurationAndIsNotQuoted(_ url: String) throws {
        let folder = try ServeProcess.folder()
        let config = try write(folder, store: "postgres://" + url)
        for more in [[], ["--check-config"]] {
            let end = try ServeProcess.run(["serve", "--config", config] + more)
            #expect(end.status == 2)
            #expect(end.error.contains("store: the PostgreSQL URL cannot be read"))
            #expect(!end.error.contains("top") && !end.error.contains("secret@"), "\(end.error)")
        }
    }

    @Test(.enabled(if: PostgresServer.isAvailable, "needs Debian's package postgresql"))
    func theServiceWaitsForItsServer() async throws {
        let server = try await onThread { try PostgresServer() }
        let url = try await onThread { try server.emptyStore() }
        try await PostgresServer.crashAll(server)
        let folder = try ServeProcess.folder()
        let config = try write(folder, store: url)
        let errors = folder.appendingPathComponent("errors")
        try Data().write(to: errors)
        let process = Process()
        process.executableURL = ServeProcess.program
        process.arguments = ["serve", "--config", config]
        process.standardError = try FileHandle(forWritingTo: errors)
        process.standardOutput = FileHandle.nullDevice
        try process.run()
        defer { kill(process.processIdentifier, SIGKILL) }
        try await said("does not answer yet", in: errors)
        #expect(process.isRunning)
        try await onThread { try server.start() }
        try await said("listening on", in: errors)
        try await PostgresServer.crashAll(server)
    }

    private func said(_ words: String, in file: URL) async throws {
        try await eventually(words) { try String(contentsOf: file, encoding: .utf8).contains(words) }
    }

    @Test func secretsThatOthersMayReadAreNamedAndThoseTheyMayWriteAreRefused() async throws {
        let folder = try ServeProcess.folder()
        let closed = try write(folder, store: "sqlite:\(folder.path)/s.sqlite")
        let quiet = try await ServeProcess(URL(fileURLWithPath: closed))
        #expect(!quiet.standardError.contains("may read a secret"))
        #expect(quiet.stop().status == 0)
        let readable = try write(folder, store: "sqlite:\(folder.path)/s.sqlite", mode: 0o644)
        let loud = try await ServeProcess(URL(fileURLWithPath: readable))
        for name in ["server", "admin"] {
            #expect(
                loud.standardError.contains("may read a secret")
                    && loud.standardError.contains("\(folder.path)/\(name)"))
        }
        // The roots are no secrets, and nor is a configuration without a password.
        #expect(!loud.standardError.contains("root.pem") && !loud.standardError.contains("file=\(readable)"))
        #expect(loud.stop().status == 0)
        // The group of the service may read what root owns; in anybody else's file it may be any group.
        let shared = try write(folder, store: "sqlite:\(folder.path)/s.sqlite", mode: 0o640)
        let grouped = try await ServeProcess(URL(fileURLWithPath: shared))
        #expect(grouped.standardError.contains("may read a secret") == (getuid() != 0))
        #expect(grouped.stop().status == 0)
        chmod(folder.appendingPathComponent("admin").path, 0o666)
        let end = try ServeProcess.run(["serve", "--config", readable, "--check-config"])
        #expect(end.status == 2 && end.error.contains("everybody may write to it"), "\(end.error)")
    }

    /// An owner can change a file whatever its mode is. Containers mount files so; then a line at the start says whose they are.
    @Test(.enabled(if: geteuid() == 0, "only root gives files away"))
    func filesOfAnotherUserAreNamed() async throws {
        let folder = try ServeProcess.folder()
        let config = try write(folder, store: "sqlite:\(folder.path)/s.sqlite")
        func named() async throws -> [String] {
            let process = try await ServeProcess(URL(fileURLWithPath: config))
            #expect(process.stop().status == 0)
            return process.standardError.split(separator: "\n").filter { $0.contains("Another user") }.map(String.init)
        }
        #expect(try await named() == [])
        for name in ["sealward.json", "admin"] { chown(folder.appendingPathComponent(name).path, 65_534, 0) }
        let lines = try await named()
        #expect(lines.count == 2 && lines.allSatisfy { $0.contains("owner=65534") }, "\(lines)")
        #expect(lines.first?.contains("place=\(folder.path)/admin ") == true, "\(lines)")
        chown(folder.path, 65_534, 0)
        #expect(try await named().count == 1)
    }

    /// Who can write the configuration, or replace it, decides who is trusted: so do all files that it names.
    @Test(arguments: ["sealward.json", "server", "admin"]) func whatOthersMayWriteIsRefused(_ name: String) throws {
        let folder = try ServeProcess.folder()
        let config = try write(folder, store: "sqlite:\(folder.path)/s.sqlite")
        let file = folder.appendingPathComponent(name).path
        func check() throws -> (status: Int32, error: String) {
            let end = try ServeProcess.run(["serve", "--config", config, "--check-config"])
            return (end.status, end.error)
        }
        func refused(_ words: String) throws {
            let end = try check()
            #expect(end.status == 2 && end.error.contains(words), "\(end.error)")
        }
        chmod(file, 0o666)
        try refused("everybody may write to it")
        // Root's group, and the owner's own.
        chmod(file, 0o660)
        #expect(try check().status == 0)
        chmod(folder.path, 0o777)
        try refused("everybody may replace it in the folder")
        // As in /tmp, only its owner replaces the file.
        chmod(folder.path, 0o1777)
        #expect(try check().status == 0)
        guard getuid() == 0 else { return }
        chown(file, 0, 65534)
        try refused("the group 65534 may write to it")
        chmod(file, 0o640)
        #expect(try check().status == 0)
        chmod(folder.path, 0o770)
        chown(folder.path, 0, 65534)
        try refused("the group 65534 may replace it in the folder")
    }

    /// A list that lets the user 65534 write is shown by the mode as a right of the group, which is root's or the owner's own here.
    @Test func anAccessControlListIsNoGroup() throws {
        let folder = try ServeProcess.folder()
        let config = try write(folder, store: "sqlite:\(folder.path)/s.sqlite")
        var list: [UInt16] = [2, 0]
        for (tag, right) in [(1, 6), (2, 6), (4, 6), (16, 6), (32, 0)] as [(UInt16, UInt16)] {
            list += [tag, right] + (tag == 2 ? [65534, 0] : [.max, .max])
        }
        let lists = ["system.posix_acl_access": Data(list.flatMap { [UInt8($0 & 255), UInt8($0 >> 8)] })]
        let key = FileAttributeKey(rawValue: "NSFileExtendedAttributes")
        // Not every file system has them.
        guard (try? FileManager.default.setAttributes([key: lists], ofItemAtPath: config)) != nil else { return }
        let refused = try ServeProcess.run(["serve", "--config", config, "--check-config"])
        #expect(refused.status == 2 && refused.error.contains("its access control list names may write to it"))
        chmod(config, 0o600)
        #expect(try ServeProcess.run(["serve", "--config", config, "--check-config"]).status == 0)
    }

    /// A safe file below a folder that others may write, reached through a link in a safe one; a link that others may replace; and a link to that
    /// one.
    @Test func foldersAboveAndLinksCount() throws {
        let folder = try ServeProcess.folder()
        let config = try write(folder, store: "sqlite:\(folder.path)/s.sqlite")
        let open = folder.appendingPathComponent("open").path
        try FileManager.default.createDirectory(atPath: open + "/in", withIntermediateDirectories: true)
        try FileManager.default.copyItem(atPath: config, toPath: open + "/in/c.json")
        let (safe, unsafe) = (folder.appendingPathComponent("link.json").path, open + "/link.json")
        try FileManager.default.createSymbolicLink(atPath: safe, withDestinationPath: open + "/in/c.json")
        try FileManager.default.createSymbolicLink(atPath: unsafe, withDestinationPath: config)
        let farther = folder.appendingPathComponent("farther.json").path
        try FileManager.default.createSymbolicLink(atPath: farther, withDestinationPath: "./open/../open/link.json")
        for path in [safe, unsafe, farther] {
            chmod(open, 0o755)
            #expect(try ServeProcess.run(["serve", "--config", path, "--check-config"]).status == 0)
            chmod(open, 0o777)
            let end = try ServeProcess.run(["serve", "--config", path, "--check-config"])
            #expect(end.status == 2 && end.error.contains("may replace it in the folder"), "\(end.error)")
        }
    }

    @Test func aStoreOnAnotherMachineNeedsAWordAboutTLS() throws {
        let folder = try ServeProcess.folder()
        for (url, status) in [("10.9.8.7/db", Int32(2)), ("10.9.8.7/db?sslmode=disable", 0), ("127.0.0.1/db", 0)] {
            let config = try write(folder, store: "postgres://u@" + url)
            let end = try ServeProcess.run(["serve", "--config", config, "--check-config"])
            #expect(end.status == status && end.error.contains("store.tls") == (status == 2), "\(end.error)")
        }
        // What restores the old behaviour, as SettingChanges names it for both kinds of libpq.
        for url in ["10.9.8.7/db?sslmode=prefer", "10.9.8.7/db?sslmode=prefer&require_auth="] {
            let config = try write(folder, store: "postgres://u@" + url)
            let end = try ServeProcess.run(["serve", "--config", config, "--check-config"])
            let isUnknown = url.hasSuffix("require_auth=") && end.error.contains("(require_auth: 16 or later)")
            #expect(end.status == (isUnknown ? 2 : 0), "\(end.error)")
        }
    }

    // MARK: As another user

    /// A folder for `nobody`, with the configuration and its files.
    private func foreign() throws -> (folder: URL, config: String) {
        let folder = try ServeProcess.folder()
        let config = try write(folder, store: "sqlite:\(folder.path)/s.sqlite")
        let nobody = try #require(getpwnam("nobody")).pointee
        for name in try FileManager.default.contentsOfDirectory(atPath: folder.path) {
            chown(folder.appendingPathComponent(name).path, nobody.pw_uid, nobody.pw_gid)
        }
        chown(folder.path, nobody.pw_uid, nobody.pw_gid)
        chmod(folder.path, 0o700)
        return (folder, config)
    }

    private func runAsNobody(_ arguments: [String]) throws -> ProgramRun {
        let starter = try #require(BuiltProgram.asNobody)
        return try ProgramRun(
            URL(fileURLWithPath: starter[0]), Array(starter.dropFirst()) + [ServeProcess.program.path] + arguments)
    }

    private func mode(_ path: String) throws -> Int {
        try #require(FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? NSNumber).intValue
    }

    @Test(.enabled(if: BuiltProgram.asNobody != nil, "needs root and setpriv"))
    func anOrdinaryUsersStoreIsItsOwn() async throws {
        let (folder, config) = try foreign()
        defer { try? FileManager.default.removeItem(at: folder) }
        let process = try await ServeProcess(URL(fileURLWithPath: config), starter: try #require(BuiltProgram.asNobody))
        for suffix in ["", "-wal", "-shm"] {
            #expect(try mode("\(folder.path)/s.sqlite\(suffix)") == 0o600, "\(suffix)")
        }
        #expect(!process.standardError.contains("may read"))
        #expect(process.stop().status == 0)
        // A store that its owner opened to all is closed again.
        chmod("\(folder.path)/s.sqlite", 0o644)
        let again = try await ServeProcess(URL(fileURLWithPath: config), starter: try #require(BuiltProgram.asNobody))
        #expect(try mode("\(folder.path)/s.sqlite") == 0o600)
        #expect(again.stop().status == 0)
    }

    @Test(.enabled(if: BuiltProgram.asNobody != nil, "needs root and setpriv"))
    func anothersStoreIsNamedAndLeftAsItIs() async throws {
        let (folder, config) = try foreign()
        defer { try? FileManager.default.removeItem(at: folder) }
        let process = try await ServeProcess(URL(fileURLWithPath: config))
        #expect(process.stop().status == 0)
        for mode in [0o600, 0o644] as [mode_t] {
            for suffix in ["", "-wal", "-shm"] { chmod("\(folder.path)/s.sqlite\(suffix)", mode) }
            let end = try runAsNobody(["serve", "--config", config])
            #expect(end.status == 2, "\(end.status) \(end.errors)")
            #expect(end.errors.contains("s.sqlite"), "\(end.errors)")
            #expect(try self.mode("\(folder.path)/s.sqlite") == Int(mode), "who is not its owner changes nothing")
            let check = try runAsNobody(["store", "check", "--store", "sqlite:\(folder.path)/s.sqlite"])
            #expect(check.status == 2, "\(check.output) \(check.errors)")
        }
    }

    @Test(.enabled(if: BuiltProgram.asNobody != nil, "needs root and setpriv"))
    func secretsOfAnotherUserAreNamedAndNotQuoted() throws {
        let (folder, config) = try foreign()
        defer { try? FileManager.default.removeItem(at: folder) }
        for name in ["server", "admin"] {
            let path = folder.appendingPathComponent(name).path
            chown(path, 0, 0)
            let end = try runAsNobody(["serve", "--config", config, "--check-config"])
            #expect(end.status == 2, "\(end.errors)")
            #expect(end.errors.contains(path), "\(end.errors)")
            #expect(!end.errors.contains(RunningService.serverToken) && !end.errors.contains(RunningService.adminToken))
            let nobody = try #require(getpwnam("nobody")).pointee
            chown(path, nobody.pw_uid, nobody.pw_gid)
        }
        #expect(try runAsNobody(["serve", "--config", config, "--check-config"]).status == 0)
        chmod(config, 0o000)
        let end = try runAsNobody(["serve", "--config", config, "--check-config"])
        #expect(end.status == 2 && end.errors.contains(config), "\(end.errors)")
    }

    // MARK: Settings whose meaning changed

    private static func fixture(_ name: String) throws -> Migration {
        let file = BuiltProgram.repository.appendingPathComponent("Tests/Vectors/stores/\(name)-schema-1.sql")
        return Migration(version: 1, name: "fixture", sql: try String(contentsOf: file, encoding: .utf8))
    }

    /// The check of a configuration names them and changes nothing; the start names them once.
    private func expectNamed(_ config: String) async throws {
        for _ in 0..<2 {
            let check = try ServeProcess.run(["serve", "--config", config, "--check-config"])
            #expect(check.status == 0, "\(check.error)")
            for sentence in SettingChanges.sentences(since: 1) {
                #expect(check.error.contains("changed: \(sentence).\n"), "\(check.error)")
            }
        }
        let process = try await ServeProcess(URL(fileURLWithPath: config))
        for sentence in SettingChanges.sentences(since: 1) {
            #expect(process.standardError.components(separatedBy: "changed: \(sentence).\n").count == 2)
        }
        #expect(process.stop().status == 0)
        let next = try ServeProcess.run(["serve", "--config", config, "--check-config"])
        #expect(next.status == 0 && !next.error.contains("changed: "), "\(next.error)")
    }

    @Test func whatChangedSinceAStoreWasWrittenIsNamed() async throws {
        let folder = try ServeProcess.folder()
        let path = "\(folder.path)/s.sqlite"
        let old = try SQLiteEngine(path: path, migrations: [Self.fixture("sqlite")])
        await old.close()
        chmod(path, 0o600)
        try await expectNamed(try write(folder, store: "sqlite:\(path)"))
    }

    @Test(.enabled(if: PostgresServer.isAvailable, "needs Debian's package postgresql"))
    func whatChangedSinceAPostgreSQLStoreWasWrittenIsNamed() async throws {
        let url = try await PostgresServer.sharedWithEmptyStore().url
        let folder = try ServeProcess.folder()
        let config = try write(folder, store: url)
        // Nobody wrote this one yet.
        let empty = try ServeProcess.run(["serve", "--config", config, "--check-config"])
        #expect(empty.status == 0 && !empty.error.contains("changed: "), "\(empty.error)")
        let old = try PostgresEngine(url: url, configuration: PostgresConfiguration())
        try await old.migrate([Self.fixture("postgres")])
        await old.close()
        try await expectNamed(config)
    }

    @Test func aServerThatDoesNotAnswerLeavesTheConfigurationComplete() throws {
        let folder = try ServeProcess.folder()
        let config = try write(folder, store: "postgres://u@127.0.0.1:\(try FreePort.take())/db")
        let end = try ServeProcess.run(["serve", "--config", config, "--check-config"])
        #expect(end.status == 0 && end.error.contains("PostgreSQL does not answer"), "\(end.error)")
    }
}
