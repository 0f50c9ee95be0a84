// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ConnectionAdmission
import Foundation
import Logging
import TestSupport
import Testing

@testable import AppleSimulator

/// A simulator on a free port of this machine.
enum SimulatorOnAPort {
    static func with(
        _ limits: Admission.Limits? = nil, hosts: [String] = [],
        _ body: (_ base: String, _ port: Int) async throws -> Void
    ) async throws {
        let (ports, continuation) = AsyncStream<Int>.makeStream()
        var server = AppleSimulatorServer(
            try AppleSimulator(), hosts: hosts, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        ) { continuation.yield($0) }
        if let limits { server.limits = limits }
        let running = Task { [server] in try await server.run() }
        defer { running.cancel() }
        var iterator = ports.makeAsyncIterator()
        let port = try #require(await iterator.next())
        try await body("http://127.0.0.1:\(port)", port)
    }
}

/// How many connections a simulator takes.
@Suite struct SimulatorConnectionTests {
    /// Connections beyond the limit of an address are closed at once, and those that there are get their answers.
    @Test func idleConnectionsAreBounded() async throws {
        try await SimulatorOnAPort.with(.init(total: 16, perAddress: 8)) { (base, port) async throws -> Void in
            var idle = try (0..<40).map { _ in try LoopbackClient(port: port) }
            try await eventually("eight stay") { idle.count(where: \.isWaiting) == 8 }
            idle.removeAll()
            try await eventually("it answers") { (try? await HTTPCall("GET", base + "/control/state"))?.status == 200 }
        }
    }
}
