// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Real servers with real flaws on 127.0.0.1, started once for the whole test process by `Scripts/loopback-servers`.
///
/// nginx, `openssl s_server` and misbehaving sockets, with certificates made by the `openssl` program. They all stop when this process
/// ends, because their standard input ends with it. ``expectations`` says what each kind must yield, and why.
package final class LoopbackServers: Sendable {
    /// One running server.
    package struct Server: Sendable {
        package let kind: String
        /// The name that a client asks for; it resolves nowhere, so map it with ``LoopbackServers/resolve(_:_:)``.
        package let host: String
        package let port: Int

        package var url: String { "https://\(host):\(port)/" }
        /// What `--resolve` of curl and of `ats check` takes.
        package var resolve: String { "\(host):\(port):127.0.0.1" }
    }

    /// The folder with every key and certificate: `NAME.key`, `NAME.crt`, `NAME.pem` (chain).
    package let folder: String
    /// The PEM file of the root that the good certificates lead to.
    package let authority: String
    package let servers: [String: Server]
    /// Ports that serve the same as `modern`.
    package let copies: [Int]

    private let process: Process
    private let input: FileHandle

    /// The host that most certificates are for, and the one that redirects lead to.
    package static let host = "api.example.com"
    package static let otherHost = "www.example.com"

    /// The servers of this process; nil where nginx, openssl or python3 is not installed.
    package static let shared: LoopbackServers? = isAvailable ? try? LoopbackServers() : nil

    /// For `.enabled(if:)`.
    package static let isAvailable = ["nginx", "openssl", "python3"].allSatisfy { program in
        let path = ProcessInfo.processInfo.environment["PATH", default: ""] + ":/usr/sbin:/sbin"
        return path.split(separator: ":").contains { FileManager.default.isExecutableFile(atPath: "\($0)/\(program)") }
    }

    /// Starts servers of their own, for tests that need more than the shared ones.
    ///
    /// - Throws: ``StartFault`` where the script printed no list of servers.
    package init(copies: Int = 0, only kinds: [String]? = nil) throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        var arguments = [
            "python3", LoopbackServers.repository + "/Scripts/loopback-servers", "--copies", String(copies),
        ]
        if let kinds { arguments += ["--only", kinds.joined(separator: ",")] }
        process.arguments = arguments
        process.environment = ProcessInfo.processInfo.environment.merging([
            "PATH": ProcessInfo.processInfo.environment["PATH", default: ""] + ":/usr/sbin:/sbin"
        ]) { $1 }
        let input = Pipe()
        let output = Pipe()
        process.standardInput = input
        process.standardOutput = output
        try process.run()
        var line: [UInt8] = []
        // `read(upToCount:)` waits until it has that many bytes, which never come.
        while line.last != 0x0A {
            let part = output.fileHandleForReading.availableData
            if part.isEmpty { break }
            line.append(contentsOf: part)
        }
        guard let list = try? JSONDecoder().decode(List.self, from: Data(line)) else {
            throw StartFault(text: String(decoding: line, as: UTF8.self))
        }
        self.process = process
        self.input = input.fileHandleForWriting
        folder = list.folder
        authority = list.ca
        self.copies = list.copies
        var servers: [String: Server] = [:]
        for (kind, place) in list.kinds { servers[kind] = Server(kind: kind, host: place.host, port: place.port) }
        self.servers = servers
    }

    deinit {
        try? input.close()
        process.waitUntilExit()
    }

    /// The server of a kind.
    ///
    /// - Throws: ``StartFault`` for a kind that the script does not know.
    package func server(_ kind: String) throws -> Server {
        guard let server = servers[kind] else { throw StartFault(text: "no server of kind \(kind)") }
        return server
    }

    /// Every host and port as an entry of `--resolve`: both test hosts on every port lead to 127.0.0.1.
    package var resolveEntries: [String] {
        servers.values.flatMap { server in
            [LoopbackServers.host, LoopbackServers.otherHost].map { "\($0):\(server.port):127.0.0.1" }
        }
    }

    package struct StartFault: Error, CustomStringConvertible {
        package let text: String
        package var description: String { "the loopback servers did not start: \(text)" }
    }

    /// The folder of the repository.
    package static let repository = BuiltProgram.repository.path

    private struct List: Decodable {
        struct Place: Decodable {
            let host: String
            let port: Int
        }
        let folder: String
        let ca: String
        let kinds: [String: Place]
        let copies: [Int]
    }
}
