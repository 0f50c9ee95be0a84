// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A real PgBouncer on loopback before a database of a ``PostgresServer``. Debian's package `pgbouncer` brings the program.
package final class PgBouncer: Sendable {
    /// What a client keeps for as long as it likes.
    package enum Pooling: String, Sendable, CaseIterable {
        case session, transaction, statement
    }

    /// Whether the program is on this machine.
    package static var isAvailable: Bool { program != nil }

    private static let program = ["/usr/sbin/pgbouncer", "/usr/bin/pgbouncer", "/usr/local/bin/pgbouncer"]
        .first { FileManager.default.isExecutableFile(atPath: $0) }

    /// Where it listens on 127.0.0.1.
    package let port: Int
    private let folder: String

    /// Starts one; it listens a moment later.
    package init(_ pooling: Pooling, before server: PostgresServer, database: String) throws {
        guard let program = PgBouncer.program else {
            throw PostgresServer.Failure(description: "PgBouncer is not installed")
        }
        port = try FreePort.take()
        folder = NSTemporaryDirectory() + "sealward-pgbouncer-\(UUID().uuidString.prefix(8))"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        ServerUser.own(folder)
        let settings = """
            [databases]
            \(database) = host=127.0.0.1 port=\(server.port) dbname=\(database) user=sealward
            [pgbouncer]
            listen_addr = 127.0.0.1
            listen_port = \(port)
            unix_socket_dir =
            auth_type = any
            pool_mode = \(pooling.rawValue)
            default_pool_size = 60
            logfile = \(folder)/log
            pidfile = \(folder)/pid
            """
        try settings.write(toFile: folder + "/pgbouncer.ini", atomically: false, encoding: .utf8)
        try ServerUser.run(program, ["-q", "-d", folder + "/pgbouncer.ini"], in: folder)
    }

    /// The connection string of the database through the pooler.
    package func url(of database: String) -> String { "postgres://sealward@127.0.0.1:\(port)/\(database)" }

    /// Ends it at once. Not by SIGTERM: it inherits the signals that a thread of the tests blocks.
    package func stop() {
        let text = try? String(contentsOfFile: folder + "/pid", encoding: .utf8)
        if let process = text.flatMap({ pid_t($0.trimmingCharacters(in: .whitespacesAndNewlines)) }), process > 1 {
            kill(process, SIGKILL)
        }
        try? FileManager.default.removeItem(atPath: folder)
    }
}
