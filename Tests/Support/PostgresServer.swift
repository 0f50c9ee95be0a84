// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization

/// A real PostgreSQL on loopback, with a data folder of its own that goes when the tests end.
///
/// Debian's package `postgresql` brings the programs. The server refuses to run as root, so root runs it as the user `postgres`.
package final class PostgresServer: Sendable {
    /// The server that all tests of a process share; started at first use.
    package static let shared = Task<PostgresServer, any Error> { try await onThread { try PostgresServer() } }

    /// The shared server, and the connection string of an empty schema in it.
    package static func sharedWithEmptyStore() async throws -> (server: PostgresServer, url: String) {
        let server = try await shared.value
        return (server, try await onThread { try server.emptyStore() })
    }

    /// The schema that a connection string of ``emptyStore()`` names.
    package static func schema(of url: String) -> String { String(url.split(separator: "D").last ?? "") }

    /// Whether the programs are on this machine.
    package static var isAvailable: Bool { programs != nil && (geteuid() != 0 || getpwnam("postgres") != nil) }

    private static let programs: String? = {
        let base = "/usr/lib/postgresql"
        let versions = (try? FileManager.default.contentsOfDirectory(atPath: base)) ?? []
        let folders = versions.sorted { (Int($0) ?? 0) > (Int($1) ?? 0) }.map { "\(base)/\($0)/bin" }
        return folders.first { FileManager.default.isExecutableFile(atPath: $0 + "/initdb") }
    }()

    package struct Failure: Error, CustomStringConvertible {
        package let description: String
    }

    private let folder: String
    /// Where it listens on 127.0.0.1.
    package let port: Int
    private let names = Mutex(0)

    /// Makes a cluster and starts its server.
    package convenience init() throws {
        try self.init { server in
            try server.run(
                "initdb", ["-D", server.folder + "/data", "-A", "trust", "-U", "sealward", "-E", "UTF8", "--no-sync"])
        }
    }

    /// Copies a running primary and starts the copy as its streaming standby.
    package convenience init(standbyOf primary: PostgresServer) throws {
        try self.init { server in
            try server.run(
                "pg_basebackup",
                [
                    "-D", server.folder + "/data", "-h", "127.0.0.1", "-p", "\(primary.port)", "-U", "sealward", "-R",
                    "-X", "stream", "--checkpoint=fast", "--no-sync",
                ]
            )
        }
    }

    private init(makingData make: (PostgresServer) throws -> Void) throws {
        folder = NSTemporaryDirectory() + "sealward-postgres-\(UUID().uuidString.prefix(8))"
        port = try FreePort.take()
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        ServerUser.own(folder)
        try make(self)
        try start()
        let atExit = folder
        PostgresServer.folders.withLock { $0.append(atExit) }
        atexit { PostgresServer.stopAll() }
    }

    /// The connection string of an empty schema of its own; every call gives another one.
    package func emptyStore() throws -> String {
        let number = names.withLock { number in
            number += 1
            return number
        }
        let name = "store_\(getpid())_\(number)"
        try query("CREATE SCHEMA \(name)")
        return PostgresServer.url(of: name, at: [port])
    }

    /// The name of an empty database of its own; every call gives another one.
    package func emptyDatabase() throws -> String {
        let number = names.withLock { number in
            number += 1
            return number
        }
        let name = "database_\(getpid())_\(number)"
        try query("CREATE DATABASE \(name)")
        return name
    }

    /// The connection string of a database.
    package func url(ofDatabase name: String) -> String { "postgres://sealward@127.0.0.1:\(port)/\(name)" }

    /// Writes a backup of a database with `pg_dump`, and gives its path.
    package func dump(_ database: String) throws -> String {
        let path = folder + "/\(database).sql"
        try run("pg_dump", ["-h", "127.0.0.1", "-p", "\(port)", "-U", "sealward", "-d", database, "-f", path])
        return path
    }

    /// Plays a backup into an empty database with `psql`.
    package func restore(_ path: String, into database: String) throws {
        try run(
            "psql",
            [
                "-q", "-v", "ON_ERROR_STOP=1", "-h", "127.0.0.1", "-p", "\(port)", "-U", "sealward", "-d", database,
                "-f", path,
            ]
        )
    }

    /// Runs a script of psql against a connection string, and gives what it printed.
    ///
    /// - Parameter text: the script itself, because the server's user need not be able to read the project.
    @discardableResult package func runScript(
        _ text: String, variables: [String: String], at url: String
    ) throws
        -> String
    {
        let path = folder + "/script-\(UUID().uuidString.prefix(8)).sql"
        try text.write(toFile: path, atomically: true, encoding: .utf8)
        ServerUser.own(path)
        let settings = variables.sorted { $0.key < $1.key }.flatMap { ["-v", "\($0.key)=\($0.value)"] }
        return try run("psql", ["-X", "-q", "-v", "ON_ERROR_STOP=1"] + settings + ["-f", path, url])
    }

    /// The connection string of a schema at one of these ports of 127.0.0.1.
    package static func url(of schema: String, at ports: [Int]) -> String {
        let hosts = ports.map { "127.0.0.1:\($0)" }.joined(separator: ",")
        return "postgres://sealward@\(hosts)/postgres?options=-csearch_path%3D\(schema)"
    }

    /// Runs one statement, and gives what psql prints: columns behind each other with a bar between.
    @discardableResult package func query(_ statement: String, in database: String = "postgres") throws -> String {
        try run(
            "psql",
            [
                "-q", "-A", "-t", "-h", "127.0.0.1", "-p", "\(port)", "-U", "sealward", "-d", database, "-c",
                statement,
            ]
        ).trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// Makes a standby a primary on a timeline of its own.
    package func promote() throws { try run("pg_ctl", ["-D", folder + "/data", "-w", "-t", "60", "promote"]) }

    /// Stops all processes of the server where they are (SIGSTOP), or lets them go on (SIGCONT).
    package func signal(_ signal: Int32) throws {
        let text = try String(contentsOfFile: folder + "/data/postmaster.pid", encoding: .utf8)
        guard let first = text.split(separator: "\n").first, let server = pid_t(first) else {
            throw Failure(description: "the server's process is unknown")
        }
        let entries = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
        let children = entries.compactMap { pid_t($0) }.filter { process in
            let status = (try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8)) ?? ""
            // The name stands in parentheses, then the state and the parent.
            let fields = status.split(separator: ")").last?.split(separator: " ") ?? []
            return fields.count > 1 && pid_t(fields[1]) == server
        }
        for process in [server] + children { kill(process, signal) }
    }

    /// Starts the server and waits until it answers.
    package func start() throws {
        // What a server wrote is there after it crashed; only a crash of the machine would need fsync.
        let options =
            "-h 127.0.0.1 -p \(port) -k \(folder) -c max_connections=1000 -c shared_buffers=64MB -c fsync=off"
        try run("pg_ctl", ["-D", folder + "/data", "-l", folder + "/log", "-w", "-t", "60", "-o", options, "start"])
    }

    /// The same for a test, whose thread must not be held.
    @discardableResult package func ask(_ statement: String) async throws -> String {
        try await onThread { try self.query(statement) }
    }

    /// Stops servers at once, as a crash would.
    package static func crashAll(_ servers: PostgresServer...) async throws {
        try await onThread { for server in servers { try server.crash() } }
    }

    /// Stops the server at once, as a crash would.
    package func crash() throws { try run("pg_ctl", ["-D", folder + "/data", "-m", "immediate", "-w", "stop"]) }

    @discardableResult private func run(_ program: String, _ arguments: [String]) throws -> String {
        try PostgresServer.run(program, arguments, in: folder)
    }

    @discardableResult
    private static func run(_ program: String, _ arguments: [String], in folder: String) throws -> String {
        guard let programs else { throw Failure(description: "PostgreSQL is not installed") }
        return try ServerUser.run(programs + "/" + program, arguments, in: folder)
    }

    private static let folders = Mutex<[String]>([])

    private static func stopAll() {
        for folder in folders.withLock({ $0 }) {
            _ = try? run("pg_ctl", ["-D", folder + "/data", "-m", "immediate", "-w", "stop"], in: folder)
            try? FileManager.default.removeItem(atPath: folder)
        }
    }
}

/// Runs programs that refuse to be root as the user `postgres`.
enum ServerUser {
    /// Gives the folder to the user.
    static func own(_ folder: String) {
        if geteuid() == 0, let user = getpwnam("postgres") { chown(folder, user.pointee.pw_uid, user.pointee.pw_gid) }
    }

    /// Runs a program to its end, and gives what it printed. What it leaves behind inherits nothing.
    @discardableResult
    static func run(_ path: String, _ arguments: [String], in folder: String) throws -> String {
        let program = path.split(separator: "/").last.map(String.init) ?? path
        // Not Foundation's Process: it waits until every heir of its socket has gone, and the server is one.
        let command = geteuid() == 0 ? ["/usr/sbin/runuser", "-u", "postgres", "--"] : []
        let words = (command + [path] + arguments).map { strdup($0) } + [nil]
        defer { for word in words { free(word) } }
        let output = folder + "/output-\(program)-\(UUID().uuidString.prefix(8))"
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_addopen(&actions, 1, output, O_WRONLY | O_CREAT, 0o600)
        posix_spawn_file_actions_adddup2(&actions, 1, 2)
        // A server that inherits the socket of a Foundation Process of another test keeps that test waiting for ever.
        for descriptor in 3..<min(1024, Int32(clamping: sysconf(Int32(_SC_OPEN_MAX)))) {
            posix_spawn_file_actions_addclose(&actions, descriptor)
        }
        var child = pid_t()
        guard let first = words[0], posix_spawn(&child, first, &actions, nil, words, environ) == 0 else {
            throw PostgresServer.Failure(description: "\(program) cannot be started")
        }
        var status: Int32 = 0
        while waitpid(child, &status, 0) < 0, errno == EINTR {}
        let text = (try? String(contentsOfFile: output, encoding: .utf8)) ?? ""
        if status != 0 {
            throw PostgresServer.Failure(description: "\(program): status \(status): \(text.suffix(500))")
        }
        return text
    }
}
