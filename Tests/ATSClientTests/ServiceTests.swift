// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ATSClient
import AppTransportSecurity
import Logging
import NIOConcurrencyHelpers
import ServiceLifecycle
import TLSProbe
import TestSupport
import Testing

/// The client as a service among others.
struct ServiceTests {
    @Test("A graceful shutdown lets loads that run end, takes no new ones, and closes every connection")
    func gracefulShutdown() async throws {
        try await PlainServer.with { server in
            let client = ATSClient(policy: try Fixture.policy("{}"), trust: TrustAnchors())
            let group = ServiceGroup(
                configuration: ServiceGroupConfiguration(
                    services: [client], logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }))
            try await withThrowingTaskGroup(of: Void.self) { tasks in
                tasks.addTask { try await group.run() }
                // One connection is kept and idle, one is busy when the shutdown comes.
                #expect(await client.load(server.url + "/bytes/10").body.count == 10)
                async let slow = client.load(server.url + "/slow")
                try await eventually("both are asked") { server.requests.withLockedValue { $0 } >= 2 }
                let start = ContinuousClock.now
                await group.triggerGracefulShutdown()
                try await tasks.waitForAll()
                #expect(Measuring.isOff || ContinuousClock.now - start < .seconds(5))
                let report = await slow
                #expect(report.body == Array("slow".utf8), "\(report.because)")
            }
            #expect(client.openConnections == 0)
            let late = await client.load(server.url)
            #expect(late.result == .noAnswer)
            #expect(late.error?.code == -999)
        }
    }
}
