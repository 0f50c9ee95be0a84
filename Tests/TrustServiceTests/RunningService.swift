// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import AppleServices
import Crypto
import DeviceSimulator
import Formats
import Foundation
import Logging
import NIOConcurrencyHelpers
import ServiceLifecycle
import TestSupport
import TrustStores
import Vocabulary

@testable import HTTPService
@testable import TrustService

/// A service in this process on a free port, with simulated devices that it trusts.
struct RunningService {
    let base: String
    let internalBase: String?
    let store: any TrustStore
    let clock: TestClock
    /// Other nodes on the same store: calls go to all nodes in turn.
    var peers: [String] = []
    private let turn = NIOLockedValueBox(0)

    /// The node whose turn it is.
    private var next: String {
        guard !peers.isEmpty else { return base }
        let turn = turn.withLockedValue { turn in
            turn += 1
            return turn % (peers.count + 1)
        }
        return turn == 0 ? base : peers[turn - 1]
    }

    init(base: String, internalBase: String?, store: any TrustStore, clock: TestClock) {
        self.base = base
        self.internalBase = internalBase
        self.store = store
        self.clock = clock
    }

    static let app = SimulatedApp("TEAM123456.com.example.shop")
    static let serverToken = "server-token-of-the-tests-0123456789"
    static let adminToken = "admin-token-of-the-tests-0123456789"

    static let authority: SimulatedAuthority = {
        var random = SimulatorRandom(seed: 42)
        // The authority of all tests; a failure here fails each of them.
        // swift-format-ignore: NeverUseForceTry
        return try! SimulatedAuthority(random: &random)
    }()

    /// A configuration with one app, two environments and the simulator's roots.
    static func configuration(_ change: (inout Configuration) -> Void = { _ in }) -> Configuration {
        var configuration = Configuration()
        configuration.listen = ListenAddress(host: "127.0.0.1", port: 0)
        configuration.serverTokens = CredentialSource(tokens: [serverToken])
        configuration.adminTokens = CredentialSource(tokens: [adminToken])
        configuration.trustSimulator = SimulatorTrust(
            attestationRootPEM: authority.attestationRootPEM, receiptRootPEM: authority.receiptRootPEM)
        var shop = Configuration.App(
            id: "shop", teamId: "TEAM123456", appIdPrefix: "TEAM123456", bundleIds: ["com.example.shop"])
        shop.environments = [.production, .development]
        configuration.apps = [shop]
        configuration.limits.requestsPerSecondPerAddress = 100_000
        change(&configuration)
        return configuration
    }

    /// A service that does not run.
    static func idle(
        _ configuration: Configuration = configuration(), store: any TrustStore = Store.inMemory(),
        clock: TestClock = TestClock(), transport: (any AppleTransport)? = nil, log: Logger = .silent,
        registry: PrometheusRegistry = PrometheusRegistry()
    ) async throws -> TrustServer {
        try await TrustServer(
            configuration: configuration, store: store, transport: transport, sources: clock.sources,
            registry: registry, log: log, announce: { _ in })
    }

    /// Runs a service while the body runs, then stops it.
    static func with<Result: Sendable>(
        _ configuration: Configuration = configuration(), store: any TrustStore = Store.inMemory(),
        clock: TestClock = TestClock(), transport: any AppleTransport = LiveAppleTransport(),
        log: Logger = .silent,
        connections: ConnectionLimits = ConnectionLimits(), interfaces: (ServiceParts) -> [any Handler] = { _ in [] },
        _ body: (RunningService) async throws -> Result
    ) async throws -> Result {
        let lines = AsyncStream<String>.makeStream()
        let server = try await TrustServer(
            configuration: configuration, store: store, transport: transport, sources: clock.sources,
            connectionLimits: connections, interfaces: interfaces, log: log, announce: { lines.continuation.yield($0) })
        let group = ServiceGroup(configuration: .init(services: [server], logger: .silent))
        return try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask {
                defer { lines.continuation.finish() }
                try await group.run()
            }
            var base = ""
            var internalBase: String?
            let wanted = configuration.internalListen == nil ? 1 : 2
            var seen = 0
            for await line in lines.stream {
                let address = String(line.split(separator: " ").last ?? "")
                if line.hasPrefix("internal") { internalBase = address } else { base = address }
                seen += 1
                if seen == wanted { break }
            }
            let running = RunningService(base: base, internalBase: internalBase, store: store, clock: clock)
            let outcome: Swift.Result<Result, any Error>
            do { outcome = .success(try await body(running)) } catch { outcome = .failure(error) }
            await group.triggerGracefulShutdown()
            try await tasks.waitForAll()
            return try outcome.get()
        }
    }
}

extension Logger {
    static let silent = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
}

extension Sequence where Element: Hashable {
    /// How often each is there.
    var tally: [Element: Int] { reduce(into: [:]) { $0[$1, default: 0] += 1 } }
}

/// A clock that tests set. It starts now, because devices' certificates are made for now.
final class TestClock: Sendable {
    private let box = NIOLockedValueBox((now: Date(), step: 0.0))
    var now: Date { box.withLockedValue { $0.now } }
    func advance(_ seconds: TimeInterval) { box.withLockedValue { $0.now += seconds } }

    /// Sets the clock, as an operator or a wrong time server does: no time passes.
    func step(_ seconds: TimeInterval) {
        box.withLockedValue { $0 = ($0.now + seconds, $0.step + seconds) }
    }

    /// The live ones with this clock.
    var sources: SystemSources {
        SystemSources(
            now: { self.now }, random: SystemSources.live.random, uptime: SystemSources.live.uptime,
            clockStep: { self.box.withLockedValue { $0.step } })
    }
}

/// One answer of the service.
struct Reply: Sendable {
    let status: Int
    let headers: [String: String]
    let body: [UInt8]

    var json: JSONValue { (try? JSONReader.read(body)) ?? .null }
    subscript(_ name: String) -> JSONValue? { json.members?.first { $0.name == name }?.value }
    var code: String? { self["code"]?.text }
    /// Status and code, for tables.
    var verdict: String { code.map { "\(status) \($0)" } ?? "\(status)" }
}

extension RunningService {
    static func call(
        _ method: String, _ url: String, body: [UInt8]? = nil, token: String? = nil, type: String? = "application/json",
        headers: [String: String] = [:]
    ) async throws -> Reply {
        var fields = headers
        if body != nil, let type { fields["Content-Type"] = fields["Content-Type"] ?? type }
        let call = try await HTTPCall(method, url, body: body, token: token, headers: fields)
        return Reply(status: call.status, headers: call.headers, body: call.body)
    }

    /// The path of a key.
    static func path(_ keyId: String) -> String { "/v1/keys/" + Base64.encodeURL(Base64.decode(keyId) ?? []) }

    /// Revokes a key, as an operator does.
    func revoke(_ keyId: String) async throws -> Reply {
        try await post(RunningService.path(keyId) + "/revoke", [:], token: RunningService.adminToken)
    }

    func delete(_ path: String, token: String = adminToken) async throws -> Reply {
        try await RunningService.call("DELETE", base + path, token: token)
    }

    func get(_ path: String, token: String? = nil) async throws -> Reply {
        try await RunningService.call("GET", next + path, token: token)
    }

    func post(
        _ path: String, _ body: JSONValue, token: String? = nil, headers: [String: String] = [:]
    ) async throws
        -> Reply
    {
        try await RunningService.call(
            "POST", next + path, body: Array(body.rendered(pretty: false).utf8), token: token, headers: headers)
    }
}
