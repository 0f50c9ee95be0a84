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
    private let folder: TemporaryDirectory
    private let running = Mutex<ListeningProgram?>(nil)

    /// - Parameters:
    ///   - app: more members of the app's configuration.
    ///   - more: more members of the configuration.
    init(app: String = "", more: String = "") async throws {
        folder = try TemporaryDirectory()
        let port = try FreePort.take()
        base = "http://127.0.0.1:\(port)"
        func file(_ name: String, _ text: String) throws -> String {
            try Data(text.utf8).write(to: folder.url.appendingPathComponent(name))
            return folder.path(name)
        }
        let authority = ServiceProcess.authority
        let text = """
            {"listen": "127.0.0.1:\(port)", "store": "sqlite:\(folder.path("store.sqlite"))",
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
        defer { service.kill() }
        return try await body(service)
    }

    /// Starts the program and waits until it listens.
    func start() async throws {
        let program = try await ListeningProgram(["serve", "--config", folder.path("sealward.json")], in: folder)
        running.withLock { $0 = program }
    }

    /// Ends the program without a word, as a power cut would.
    func kill() {
        running.withLock { program in
            program?.signal(SIGKILL)
            _ = program?.stop()
            program = nil
        }
    }

    /// Throws the store away.
    func forgetEverything() async throws {
        kill()
        for name in ["store.sqlite", "store.sqlite-wal", "store.sqlite-shm"] {
            try? FileManager.default.removeItem(atPath: folder.path(name))
        }
        try await start()
    }

    deinit { kill() }
}

struct Failure: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}
