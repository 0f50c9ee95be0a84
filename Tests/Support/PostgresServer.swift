// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization

/// A real PostgreSQL on loopback, with a data folder of its own that goes when the tests end.
///
/// Debian's package `postgresql` brings the programs. The server refuses to run as root, so root runs it as the user `postgres`.
package final class PostgresServer: Sendable {
    /// The server that all tests of a process share; started at first use.
    package static let shared = Task<PostgresServer, any Error> {
        // On a thread of its own: starting takes seconds, and tasks have few threads.
        try await withCheckedThrowingContinuation { continuation in
            Thread { continuation.resume(with: Result { try PostgresServer() }) }.start()
        }
    }

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
    private let port: Int
    private let names = Mutex(0)

    package init() throws {
        folder = NSTemporaryDirectory() + "sealward-postgres-\(UUID().uuidString.prefix(8))"
        port = try FreePort.take()
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        if geteuid() == 0, let user = getpwnam("postgres") { chown(folder, user.pointee.pw_uid, user.pointee.pw_gid) }
        try run("initdb", ["-D", folder + "/data", "-A", "trust", "-U", "sealward", "-E", "UTF8", "--no-sync"])
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
        try run(
            "psql",
            [
                "-q", "-h", "127.0.0.1", "-p", "\(port)", "-U", "sealward", "-d", "postgres", "-c",
                "CREATE SCHEMA \(name)",
            ]
        )
        return "postgres://sealward@127.0.0.1:\(port)/postgres?options=-csearch_path%3D\(name)"
    }

    /// Starts the server and waits until it answers.
    package func start() throws {
        let options = "-h 127.0.0.1 -p \(port) -k \(folder) -c max_connections=1000 -c shared_buffers=64MB"
        try run("pg_ctl", ["-D", folder + "/data", "-l", folder + "/log", "-w", "-t", "60", "-o", options, "start"])
    }

    /// Stops the server at once, as a crash would.
    package func crash() throws { try run("pg_ctl", ["-D", folder + "/data", "-m", "immediate", "-w", "stop"]) }

    private func run(_ program: String, _ arguments: [String]) throws {
        try PostgresServer.run(program, arguments, in: folder)
    }

    private static func run(_ program: String, _ arguments: [String], in folder: String) throws {
        guard let programs else { throw Failure(description: "PostgreSQL is not installed") }
        // Not Foundation's Process: it waits until every heir of its socket has gone, and the server is one.
        let command = geteuid() == 0 ? ["/usr/sbin/runuser", "-u", "postgres", "--"] : []
        let words = (command + [programs + "/" + program] + arguments).map { strdup($0) } + [nil]
        defer { for word in words { free(word) } }
        let output = folder + "/output-\(program)-\(UUID().uuidString.prefix(8))"
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_addopen(&actions, 1, output, O_WRONLY | O_CREAT, 0o600)
        posix_spawn_file_actions_adddup2(&actions, 1, 2)
        var child = pid_t()
        guard let path = words[0], posix_spawn(&child, path, &actions, nil, words, environ) == 0 else {
            throw Failure(description: "\(program) cannot be started")
        }
        var status: Int32 = 0
        while waitpid(child, &status, 0) < 0, errno == EINTR {}
        if status != 0 {
            let text = (try? String(contentsOfFile: output, encoding: .utf8)) ?? ""
            throw Failure(description: "\(program): status \(status): \(text.suffix(500))")
        }
    }

    private static let folders = Mutex<[String]>([])

    private static func stopAll() {
        for folder in folders.withLock({ $0 }) {
            try? run("pg_ctl", ["-D", folder + "/data", "-m", "immediate", "-w", "stop"], in: folder)
            try? FileManager.default.removeItem(atPath: folder)
        }
    }
}
