// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// An `openssl s_server` on a free loopback port, stopped when it goes out of use.
public final class OpenSSLServer: Sendable {
    public let port: Int
    private let process: Process
    private let directory: TemporaryDirectory

    /// - Parameters:
    ///   - options: after `-accept`; certificates and keys are among them.
    ///   - address: of this machine, IPv6 in brackets.
    public init(_ options: [String], address: String = "127.0.0.1") throws {
        directory = try TemporaryDirectory()
        let log = directory.path("log")
        guard FileManager.default.createFile(atPath: log, contents: nil), let output = FileHandle(forWritingAtPath: log)
        else {
            throw OpenSSLProgram.Failure(description: "no log file")
        }
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["openssl", "s_server", "-accept", "\(address):0", "-www"] + options
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = output
        process.standardError = output
        try process.run()
        self.process = process
        let deadline = Date().addingTimeInterval(20)
        var found: Int?
        while found == nil, Date() < deadline, process.isRunning {
            let text = (try? String(contentsOfFile: log, encoding: .utf8)) ?? ""
            found = text.split(separator: "\n").filter { $0.hasPrefix("ACCEPT") }.last
                .flatMap { $0.split(separator: ":").last }.flatMap { Int($0) }
            if found == nil { usleep(5000) }
        }
        guard let found else {
            kill(process.processIdentifier, SIGKILL)
            let text = (try? String(contentsOfFile: log, encoding: .utf8)) ?? ""
            throw OpenSSLProgram.Failure(description: "openssl s_server \(options.joined(separator: " ")): \(text)")
        }
        port = found
    }

    deinit {
        // Threads of the concurrency runtime block the other signals, and a child inherits that.
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
    }
}
