// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import Findings
import NIOConcurrencyHelpers
import NIOCore
import TLSFacts
import TLSProbe
import TestSupport
import Testing

@testable import ATSClient

/// A public server does not send a client into the network that the client is in. 127.0.0.2 plays the public server.
struct PrivateRedirectTests {
    private static func client(_ change: (inout ATSClient.Configuration) -> Void = { _ in }) throws -> ATSClient {
        var configuration = ATSClient.Configuration()
        configuration.connectTimeout = .seconds(2)
        configuration.totalTimeout = .seconds(8)
        configuration.kind = { $0.ipAddress == "127.0.0.2" ? .global : AddressKind($0) }
        change(&configuration)
        let policy = try Fixture.policy("{\"NSAllowsArbitraryLoads\":true}")
        return ATSClient(policy: policy, trust: TrustAnchors(), configuration: configuration)
    }

    private static func redirect(to target: String) -> ScriptedServer.Script {
        // The connection is gone when the redirect is followed, and with it the address of the channel.
        ScriptedServer.Script([.text("HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: \(target)\r\n\r\n"), .close])
    }

    @Test(
        arguments: [
            "http://127.0.0.1:PORT/", "http://localhost:PORT/", "http://[::1]:PORT/", "http://[::ffff:127.0.0.1]:PORT/",
            "http://10.0.0.1:PORT/", "http://192.168.1.1/", "http://169.254.169.254/", "http://168.63.129.16/",
            "http://100.100.100.200/", "http://192.0.0.192/", "http://[fd00:ec2::254]/", "http://[fe80::1]/",
            "http://[64:ff9b:1::7f00:1]/", "http://[64:ff9b::7f00:1]/", "http://[2002:7f00:1::]/",
            "http://0.0.0.0:PORT/",
        ]
    )
    func refused(target: String) async throws {
        let log = CountingUpstream.Log([])
        try await RawServer.with({ CountingUpstream(log) }) { inside in
            let place = target.split(separator: "PORT", omittingEmptySubsequences: false).joined(
                separator: "\(inside.port)")
            try await RawServer.with(host: "127.0.0.2", { ScriptedServer(Self.redirect(to: place)) }) { outside in
                let client = try Self.client()
                let start = ContinuousClock.now
                let report = await client.load("http://127.0.0.2:\(outside.port)/")
                #expect(report.result != .loaded, "\(report)")
                #expect(report.hops.count == 2)
                // Nothing was even tried.
                #expect(Measuring.isOff || ContinuousClock.now - start < .milliseconds(1900))
                #expect(log.withLockedValue { $0 }.isEmpty)
                await client.shutDown(grace: .zero)
            }
        }
    }

    @Test("Allowed, and from a private server, it leads there", arguments: [true, false])
    func allowed(isPublic: Bool) async throws {
        let log = CountingUpstream.Log([])
        try await RawServer.with({ CountingUpstream(log) }) { inside in
            let script = Self.redirect(to: "http://127.0.0.1:\(inside.port)/inside")
            try await RawServer.with(host: "127.0.0.2", { ScriptedServer(script) }) { outside in
                let client = try Self.client {
                    if isPublic { $0.mayRedirectToPrivateAddresses = true } else { $0.kind = { AddressKind($0) } }
                }
                let report = await client.load("http://127.0.0.2:\(outside.port)/")
                #expect(report.result == .loaded, "\(report)")
                #expect(log.withLockedValue { $0 } == ["GET /inside 0"])
                await client.shutDown(grace: .zero)
            }
        }
    }

    @Test(
        "The proxy's guardian knows metadata services, special addresses and the proxy itself in every form",
        arguments: [
            ("169.254.169.254", false), ("168.63.129.16", false), ("100.100.100.200", false), ("192.0.0.192", false),
            ("fd00:ec2::254", false), ("fd20:ce::254", false), ("fe80::1", false), ("0.0.0.0", false), ("::", false),
            ("224.0.0.1", false), ("255.255.255.255", false), ("::ffff:169.254.169.254", false),
            ("::169.254.169.254", false), ("64:ff9b::a9fe:a9fe", false), ("2002:a9fe:a9fe::1", false),
            ("127.0.0.1", true), ("127.9.9.9", true), ("::1", true), ("10.0.0.1", true), ("64:ff9b:1::1", true),
            ("93.184.215.14", true), ("2606:2800:21f::1", true),
        ]
    )
    func guardian(address: String, isAllowed: Bool) throws {
        let guardian = AddressGuardian()
        guardian.listen(on: try SocketAddress(ipAddress: "127.0.0.1", port: 8843))
        let other = try SocketAddress(ipAddress: address, port: 443)
        #expect((guardian.refusal(of: other) == nil) == isAllowed, "\(guardian.refusal(of: other) ?? "allowed")")
        let own = try SocketAddress(ipAddress: address, port: 8843)
        let isLoopback = AddressKind(own) == .loopback
        #expect((guardian.refusal(of: own) == nil) == (isAllowed && !isLoopback))
    }

    @Test("An address of the proxy in the mapped form is the proxy itself")
    func mappedSelf() throws {
        let guardian = AddressGuardian()
        guardian.listen(on: try SocketAddress(ipAddress: "10.1.2.3", port: 8843))
        for form in ["10.1.2.3", "::ffff:10.1.2.3"] {
            #expect(guardian.refusal(of: try SocketAddress(ipAddress: form, port: 8843)) != nil)
        }
        #expect(guardian.refusal(of: try SocketAddress(ipAddress: "10.1.2.4", port: 8843)) == nil)
    }
}
