// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import NIOConcurrencyHelpers
import NIOCore
import TLSModel
import TLSProbe
import TestSupport
import Testing
import Vocabulary

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

    /// 127.0.0.2 plays a server in a private network, at a link-local address and at that of a metadata service.
    @Test(arguments: [AddressKind.privateNetwork, .linkLocal, .metadata, .special])
    func ofAnotherKind(kind: AddressKind) async throws {
        let log = CountingUpstream.Log([])
        try await RawServer.with({ CountingUpstream(log) }) { inside in
            let script = Self.redirect(to: "http://127.0.0.1:\(inside.port)/inside")
            try await RawServer.with(host: "127.0.0.2", { ScriptedServer(script) }) { outside in
                let client = try Self.client { $0.kind = { $0.ipAddress == "127.0.0.2" ? kind : AddressKind($0) } }
                let report = await client.load("http://127.0.0.2:\(outside.port)/")
                // What the user named was asked.
                #expect(report.hops.count == 2 && report.result == .noAnswer, "\(report)")
                #expect(report.because.first?.message.contains("own kind") == true, "\(report.because)")
                #expect(log.withLockedValue { $0 }.isEmpty)
                await client.shutDown(grace: .zero)
            }
        }
    }

    @Test(
        "Nobody leads to a metadata service or a link-local address, also where any network is allowed",
        arguments: [
            "http://169.254.169.254/", "http://[fd00:ec2::254]/", "http://[::ffff:169.254.169.254]/",
            "http://[fe80::1]/",
            "http://169.254.1.1/", "http://168.63.129.16/", "http://[64:ff9b::a9fe:a9fe]/",
        ], [true, false])
    func ledNowhere(target: String, allowsAnyNetwork: Bool) async throws {
        try await RawServer.with({ ScriptedServer(Self.redirect(to: target)) }) { server in
            let client = try Self.client { $0.mayRedirectToPrivateAddresses = allowsAnyNetwork }
            let report = await client.load("http://127.0.0.1:\(server.port)/")
            #expect(report.result == .noAnswer && report.hops.count == 2)
            #expect(report.because.first?.message.contains("own kind") == true, "\(report.because)")
            await client.shutDown(grace: .zero)
        }
    }

    /// A way over a public server does not lead back, though the first one was private.
    @Test func overAPublicServer() async throws {
        let log = CountingUpstream.Log([])
        try await RawServer.with({ CountingUpstream(log) }) { inside in
            let back = Self.redirect(to: "http://127.0.0.3:\(inside.port)/inside")
            try await RawServer.with(host: "127.0.0.2", { ScriptedServer(back) }) { outside in
                let out = Self.redirect(to: "http://127.0.0.2:\(outside.port)/")
                try await RawServer.with({ ScriptedServer(out) }) { first in
                    let client = try Self.client()
                    let report = await client.load("http://127.0.0.1:\(first.port)/")
                    #expect(report.hops.count == 3 && report.result == .noAnswer, "\(report)")
                    #expect(log.withLockedValue { $0 }.isEmpty)
                    await client.shutDown(grace: .zero)
                }
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
        // Clients on other machines reach nothing of this one, and its network only if that is wanted.
        for allowsPrivate in [true, false] {
            let remote = AddressGuardian(scope: .remote(allowsPrivate: allowsPrivate))
            let kind = AddressKind(other)
            let isReached = kind == .global || kind == .privateNetwork && allowsPrivate
            #expect((remote.refusal(of: other) == nil) == (isAllowed && isReached))
        }
    }

    @Test("A proxy beyond loopback leads to nothing on its own machine", arguments: [true, false])
    func remoteProxy(allowsPrivate: Bool) async throws {
        let log = CountingUpstream.Log([])
        try await RawServer.with({ CountingUpstream(log) }) { inside in
            try await RunningProxy.plain({
                ($0.listenAddress, $0.credentials, $0.allowsPrivate) = ("0.0.0.0", ["a:b"], allowsPrivate)
            }) { running in
                for request in [
                    "GET http://127.0.0.1:\(inside.port)/ HTTP/1.1", "CONNECT 127.0.0.1:\(inside.port) HTTP/1.1",
                ] {
                    let answer = try await running.exchange(
                        "\(request)\r\nHost: up\r\nConnection: close\r\nProxy-Authorization: Basic YTpi\r\n\r\n")
                    #expect(answer.hasPrefix("HTTP/1.1 403"), "\(answer)")
                    #expect(answer.contains("ats.proxy.forbidden-address"), "\(answer)")
                }
                #expect(log.withLockedValue { $0 }.isEmpty)
            }
        }
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
