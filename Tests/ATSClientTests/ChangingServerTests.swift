// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ATSClient
import AppTransportSecurity
import HTTPTypes
import NIOConcurrencyHelpers
import TLSProbe
import TestSupport
import Testing
import Vocabulary

/// Servers that comply when they are probed and not when something is loaded from them.
@Suite(.enabled(if: LoopbackServers.isAvailable && Programs.has("curl")))
struct ChangingServerTests {
    /// What the second connection meets, and why it is refused.
    static let changes = [
        ("expired", "ats.trust.expired"), ("wrong-host", "ats.trust.wrong-host"),
        ("tls11-only", "ats.tls.version-too-low"),
        ("suite-static-aes128-gcm-sha256", "ats.tls.no-forward-secrecy"),
    ]

    private static func overrides(_ port: Int) -> [AddressOverride] {
        [AddressOverride(host: LoopbackServers.host, port: port, address: "127.0.0.1")]
    }

    @Test("Every connection of the client is judged, not only the first", arguments: changes)
    func client(kind: String, code: String) async throws {
        let ports = [try Fixture.server("tls12-only").port, try Fixture.server(kind).port]
        try await SwitchingServer.with(ports) { server in
            let client = try Fixture.client { $0.addressOverrides = Self.overrides(server.port) }
            let url = "https://\(LoopbackServers.host):\(server.port)/"
            let first = await client.load(url, headerFields: [.connection: "close"])
            #expect(first.result == .loaded, "\(first.because)")
            let second = await client.load(url)
            #expect(second.result == .refused)
            #expect(second.because.first?.code.rawValue == code, "\(second.because)")
            #expect(second.body.isEmpty)
            await client.shutDown(grace: .zero)
        }
    }

    /// A weaker suite is not cut: which of several a server prefers depends on the program's hello, and an app offers no others.
    @Test(
        "The proxy cuts a version that the probe did not see, and certificates that it did not see",
        arguments: changes.filter { $0.1 != "ats.tls.no-forward-secrecy" })
    func proxy(kind: String, code: String) async throws {
        let ports = [try Fixture.server("tls12-only").port, try Fixture.server(kind).port]
        try await SwitchingServer.with(ports) { server in
            try await RunningProxy.with(change: { $0.addressOverrides = Self.overrides(server.port) }) {
                running in
                let result = try await running.curl(
                    "--tls-max", "1.2", "--ciphers", "DEFAULT@SECLEVEL=0", "--tlsv1.0",
                    "https://\(LoopbackServers.host):\(server.port)/")
                #expect(result.status == 35, "\(result.status) \(result.errors)")
                #expect(result.output.isEmpty)
                try await eventually("it is noted") { await running.events.all.last?.result == .refused }
                let last = await running.events.all.last
                #expect(last?.causes.first?.code.rawValue == code, "\(String(describing: last))")
            }
        }
    }

    @Test("A load that gives up while it connects takes nobody with it who waits for the connection")
    func waitersSurvive() async throws {
        let ports = [try Fixture.server("silent").port, try Fixture.server("modern").port]
        try await SwitchingServer.with(ports) { server in
            let client = try Fixture.client {
                $0.addressOverrides = Self.overrides(server.port)
                $0.connectionsPerHost = 1
            }
            let url = "https://\(LoopbackServers.host):\(server.port)/"
            async let first = client.load(url, timeout: .milliseconds(400))
            try await eventually("it is accepted") { server.accepted.withLockedValue { $0 } > 0 }
            let second = await client.load(url)
            #expect(second.result == .loaded, "\(second.because)")
            #expect(await first.error?.code == -1001)
            await client.shutDown(grace: .zero)
        }
    }

    @Test("Loads that wait for a connection that cannot be made end with its error, all of them at once")
    func waitersOfADeadHost() async throws {
        let client = try Fixture.client { $0.connectionsPerHost = 2 }
        let url = try Fixture.server("refused").url
        let start = ContinuousClock.now
        for report in try await allAtOnce(40, { _ in await client.load(url) }) {
            #expect(report.because.first?.code == "ats.net.refused", "\(report.because)")
        }
        #expect(Measuring.isOff || ContinuousClock.now - start < .seconds(5))
        #expect(client.openConnections == 0)
    }

    @Test("Tunnels to one destination that are asked for at the same time share one probe")
    func oneProbe() async throws {
        try await SwitchingServer.with([try Fixture.server("modern").port]) { server in
            try await RunningProxy.with(change: { $0.addressOverrides = Self.overrides(server.port) }) {
                running in
                let request = "CONNECT \(LoopbackServers.host):\(server.port) HTTP/1.1\r\nConnection: close\r\n\r\n"
                let statuses = try await allAtOnce(12) { _ in await running.status(request) }
                #expect(statuses.allSatisfy { $0 == "200" }, "\(statuses)")
                // Twelve tunnels and the probe.
                #expect(server.accepted.withLockedValue { $0 } <= 13)
            }
        }
    }
}
