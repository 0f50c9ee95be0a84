// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttestClient
import DeviceSimulator
import Foundation
import Glibc
import Synchronization
import TestSupport

/// The real `sealward serve` with one app, which can be killed and started again on the same port and store.
final class ServiceProcess: Sendable {
    static let app = SimulatedApp("TEAM123456.com.example.shop")
    static let adminToken = "admin-token-of-the-tests-0123456789"
    static let serverToken = "server-token-of-the-tests-0123456789"

    static let authority: SimulatedAuthority = {
        var random = SimulatorRandom(seed: 42)
        // The authority of all tests; a failure here fails each of them.
        // swift-format-ignore: NeverUseForceTry
        return try! SimulatedAuthority(random: &random)
    }()

    let base: String
    private let folder: URL
    private let running = Mutex<Process?>(nil)

    /// - Parameters:
    ///   - app: more members of the app's configuration.
    ///   - more: more members of the configuration.
    init(app: String = "", more: String = "") async throws {
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("app-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let port = try FreePort.take()
        base = "http://127.0.0.1:\(port)"
        func file(_ name: String, _ text: String) throws -> String {
            let url = folder.appendingPathComponent(name)
            try Data(text.utf8).write(to: url)
            return url.path
        }
        let authority = ServiceProcess.authority
        let text = """
            {"listen": "127.0.0.1:\(port)", "store": "sqlite:\(folder.path)/store.sqlite",
             "serverTokenFile": "\(try file("server", ServiceProcess.serverToken))",
             "adminTokenFile": "\(try file("admin", ServiceProcess.adminToken))",
             "trustSimulator": {"attestationRoot": "\(try file("root.pem", authority.attestationRootPEM))",
                                "receiptRoot": "\(try file("receipts.pem", authority.receiptRootPEM))"},
             "limits": {"requestsPerSecondPerAddress": 100000},
             "apps": [{"id": "shop", "teamId": "TEAM123456", "bundleIds": ["com.example.shop"], "requireHost": true\(app)}],
             "hosts": ["backend.example", "api.example.com"]\(more)}
            """
        _ = try file("sealward.json", text)
        try await start()
    }

    /// Runs a service while the body runs.
    static func with<Value>(app: String = "", _ body: (ServiceProcess) async throws -> Value) async throws -> Value {
        let service = try await ServiceProcess(app: app)
        defer { service.remove() }
        return try await body(service)
    }

    /// Starts the program and waits until it listens.
    func start() async throws {
        let process = Process()
        process.executableURL = BuiltProgram.url
        process.arguments = ["serve", "--config", folder.appendingPathComponent("sealward.json").path]
        process.currentDirectoryURL = folder
        process.standardOutput = FileHandle.nullDevice
        let log = folder.appendingPathComponent("log")
        _ = FileManager.default.createFile(atPath: log.path, contents: nil)
        process.standardError = try FileHandle(forWritingTo: log)
        try process.run()
        running.withLock { $0 = process }
        let deadline = ContinuousClock.now + .seconds(60)
        while true {
            let text = (try? String(contentsOf: log, encoding: .utf8)) ?? ""
            if text.contains("listening on \(base)") { return }
            guard process.isRunning, ContinuousClock.now < deadline else {
                throw Failure("serve did not start: \(text)")
            }
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    /// Ends the program without a word, as a power cut would.
    func kill() {
        running.withLock { process in
            guard let ended = process else { return }
            Glibc.kill(ended.processIdentifier, SIGKILL)
            ended.waitUntilExit()
            process = nil
        }
    }

    /// Throws the store away.
    func forgetEverything() async throws {
        kill()
        for name in ["store.sqlite", "store.sqlite-wal", "store.sqlite-shm"] {
            try? FileManager.default.removeItem(at: folder.appendingPathComponent(name))
        }
        try await start()
    }

    private func remove() {
        kill()
        try? FileManager.default.removeItem(at: folder)
    }

    deinit { remove() }
}

struct Failure: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}
