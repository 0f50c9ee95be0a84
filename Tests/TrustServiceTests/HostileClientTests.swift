// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import NIOCore
import TestSupport
import Testing
import Vocabulary

@testable import HTTPService
@testable import TrustService

/// Raw clients against a running service: each ends within the deadlines, nothing stays behind, and an honest client is served meanwhile.
@Suite(.serialized) struct HostileClientTests {
    /// The deadlines of the service, a tenth and less, so that the table runs in seconds.
    static let limits: ConnectionLimits = {
        var limits = ConnectionLimits()
        limits.first = .milliseconds(1500)
        limits.request = .milliseconds(1500)
        limits.answer = .seconds(5)
        limits.unread = .milliseconds(1500)
        limits.idle = .milliseconds(2000)
        limits.linger = .milliseconds(500)
        return limits
    }()

    /// The longest way through the states, with room for a busy machine.
    static let patience = 20.0

    @Test(arguments: HostileClient.Table.allCases)
    func everyClientEndsAndNothingStays(_ table: HostileClient.Table) async throws {
        let configuration = RunningService.configuration { $0.limits.connectionsPerAddress = 1000 }
        try await RunningService.with(configuration, connections: HostileClientTests.limits) { service in
            let port = try #require(URL(string: service.base)?.port)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for client in HostileClient.clients(table) {
                    group.addTask {
                        let outcome = await client.run(
                            port: port, patience: client.reads ? HostileClientTests.patience : 3)
                        guard client.reads else { return }
                        #expect(outcome.isClosed, "\(client.name): open after \(outcome.seconds) s")
                        let statuses = outcome.statuses
                        #expect(
                            client.statuses.isEmpty || client.statuses.contains(statuses),
                            "\(client.name): \(statuses) \(outcome.text.prefix(200))")
                    }
                }
                var times: [Duration] = []
                for _ in 0..<20 {
                    let start = ContinuousClock.now
                    #expect(try await HostileClientTests.honest(port, "/readyz").hasPrefix("HTTP/1.1 200"))
                    times.append(ContinuousClock.now - start)
                    try await Task.sleep(for: .milliseconds(50))
                }
                // A busy machine may hold one answer up.
                #expect(Measuring.isOff || times.sorted()[17] < .seconds(1), "\(table): \(times)")
                try await group.waitForAll()
            }
            // The one connection that is open is the one that asks.
            let wanted = "sealward_http_connections_open{listener=\"public\"} 1\n"
            try await eventually("\(table): nothing stays open") {
                try await HostileClientTests.honest(port, "/metrics").contains(wanted)
            }
        }
    }

    private static func honest(_ port: Int, _ path: String) async throws -> String {
        let connection = try LoopbackClient(port: port)
        connection.send("GET \(path) HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
        return await connection.everything(seconds: 10)
    }
}
