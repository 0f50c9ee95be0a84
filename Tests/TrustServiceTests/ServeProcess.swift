// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import DeviceSimulator
import Foundation
import Glibc
import NIOConcurrencyHelpers
import TestSupport
import TrustStores

@testable import TrustService

/// The real `sealward serve` as a process of its own.
final class ServeProcess: Sendable {
    private let process: Process
    private let errors = Pipe()
    private let lines = NIOLockedValueBox<String>("")
    let base: String

    static let program =
        ProcessInfo.processInfo.environment["SEALWARD_PROGRAM"].map { URL(fileURLWithPath: $0) }
        ?? BuiltProgram.url
    static var isBuilt: Bool { FileManager.default.isExecutableFile(atPath: program.path) }

    /// Writes a configuration with the simulator's roots into a folder; a new one unless one is given.
    static func write(_ folder: URL? = nil, store: String? = nil, extra: String = "") throws -> URL {
        let folder = try folder ?? self.folder()
        let (authority, store) = (RunningService.authority, store ?? "sqlite:\(folder.path)/s.sqlite")
        func file(_ name: String, _ text: String) throws -> String {
            let url = folder.appendingPathComponent(name)
            try Data(text.utf8).write(to: url)
            return url.path
        }
        let text = """
            {"listen": "127.0.0.1:0", "store": "\(store)",
             "serverTokenFile": "\(try file("server", RunningService.serverToken + "\n"))",
             "adminTokenFile": "\(try file("admin", RunningService.adminToken + "\n"))",
             "trustSimulator": {"attestationRoot": "\(try file("root.pem", authority.attestationRootPEM))",
                                "receiptRoot": "\(try file("receipts.pem", authority.receiptRootPEM))"},
             "limits": {"requestsPerSecondPerAddress": 100000},
             "apps": [{"id": "shop", "teamId": "TEAM123456", "bundleIds": ["com.example.shop"]}]\(extra)}
            """
        return URL(fileURLWithPath: try file("sealward.json", text))
    }

    /// A new folder, which goes when the tests end.
    static func folder() throws -> URL {
        let url = TemporaryDirectory.shared.url.appendingPathComponent(UUID().uuidString)
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
        return url
    }

    /// Starts the program and waits until it listens.
    ///
    /// - Parameters:
    ///   - descriptors: `ulimit -n` of the process; nil for this one's.
    ///   - starter: a program and its first arguments, which becomes this one.
    init(
        _ configuration: URL, environment: [String: String] = [:], descriptors: Int? = nil, starter: [String] = []
    ) async throws {
        let process = Process()
        process.executableURL = ServeProcess.program
        process.arguments = ["serve", "--config", configuration.path]
        if let descriptors {
            process.executableURL = URL(fileURLWithPath: "/bin/sh")
            process.arguments =
                ["-c", "ulimit -n \(descriptors); exec \"$0\" \"$@\"", ServeProcess.program.path]
                + (process.arguments ?? [])
        }
        if let first = starter.first {
            process.executableURL = URL(fileURLWithPath: first)
            process.arguments = starter.dropFirst() + [ServeProcess.program.path] + (process.arguments ?? [])
        }
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        // From anywhere: nothing but the binary and what the configuration names.
        process.currentDirectoryURL = configuration.deletingLastPathComponent()
        process.standardError = errors
        process.standardOutput = FileHandle.nullDevice
        let lines = lines
        errors.fileHandleForReading.readabilityHandler = { handle in
            let text = String(decoding: handle.availableData, as: UTF8.self)
            if text.isEmpty { handle.readabilityHandler = nil }
            lines.withLockedValue { $0 += text }
        }
        try process.run()
        self.process = process
        let deadline = ContinuousClock.now + .seconds(20)
        var found: String?
        while found == nil {
            found = lines.withLockedValue { text in
                text.split(separator: "\n").first { $0.hasPrefix("listening on ") }.map { String($0.dropFirst(13)) }
            }
            guard process.isRunning || found != nil, ContinuousClock.now < deadline else {
                throw Failure("serve did not start: \(lines.withLockedValue { $0 })")
            }
            if found == nil { try await Task.sleep(for: .milliseconds(20)) }
        }
        base = found ?? ""
    }

    /// Reads standard error no more, and makes its pipe as small as the system lets it be. Gives how many bytes wait in it.
    func stopReading() -> () -> Int {
        let reading = errors.fileHandleForReading
        reading.readabilityHandler = nil
        _ = fcntl(reading.fileDescriptor, 1031, 4096)  // F_SETPIPE_SZ
        return {
            var count: CInt = 0
            return ioctl(reading.fileDescriptor, UInt(FIONREAD), &count) == 0 ? Int(count) : 0
        }
    }

    var standardError: String { lines.withLockedValue { $0 } }

    /// A running service as the phones know it.
    var service: RunningService {
        RunningService(base: base, internalBase: nil, store: Store.inMemory(), clock: TestClock())
    }

    var id: Int32 { process.processIdentifier }

    var isRunning: Bool { process.isRunning }

    /// Asks the program to stop, and does not wait for it.
    func signal(_ signal: Int32) { Glibc.kill(process.processIdentifier, signal) }

    /// What the program ended with; only after it has ended.
    var status: Int32 { process.terminationStatus }

    /// Bytes of memory that the program holds now.
    var residentBytes: Int {
        let text = (try? String(contentsOfFile: "/proc/\(id)/status", encoding: .utf8)) ?? ""
        let line = text.split(separator: "\n").first { $0.hasPrefix("VmRSS:") } ?? ""
        return line.split(separator: " ").compactMap { Int($0) }.first.map { $0 * 1024 } ?? 0
    }

    func kill() {
        Glibc.kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
    }

    /// Asks the program to stop; gives its status and how long it took.
    func stop(_ signal: Int32 = SIGTERM) -> (status: Int32, reason: Process.TerminationReason, seconds: Double) {
        let start = ContinuousClock.now
        Glibc.kill(process.processIdentifier, signal)
        process.waitUntilExit()
        return (process.terminationStatus, process.terminationReason, (ContinuousClock.now - start) / .seconds(1))
    }

    deinit { if process.isRunning { Glibc.kill(process.processIdentifier, SIGKILL) } }

    /// Runs the program to its end.
    static func run(_ arguments: [String], environment: [String: String] = [:]) throws -> (status: Int32, error: String)
    {
        let run = try ProgramRun(program, arguments, environment: environment)
        return (run.status, run.errors)
    }
}
