// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import NIOCore
import NIOPosix
import TLSModel
import TLSProbe
import TestSupport
import Testing

@Suite struct ProberTests {
    static let offer = HelloOffer(minimumVersion: .tls10, suites: ProbeFixtures.forwardSecret + ProbeFixtures.plainRSA)

    @Test func brokenServersAreDifferentFacts() async throws {
        let cases: [(OddServer.Behaviour, @Sendable (ConnectionFailure) -> Bool)] = [
            (.silent, { $0 == .timeout }), (.closes, { $0 == .closed }), (.resets, { $0 == .reset }),
            (
                .says(Array("220 mail.example ESMTP\r\n".utf8)),
                { $0 == .notTLS(prefix: Array("220 mail.example ESMTP\r\n".utf8)) }
            ),
            (
                .answers(Array("HTTP/1.1 400 Bad Request\r\n\r\n".utf8)),
                { $0 == .notTLS(prefix: Array("HTTP/1.1 400 Bad Request\r\n\r\n".utf8)) }
            ),
            (
                .answers([UInt8](repeating: 0xEE, count: 100)),
                { $0 == .notTLS(prefix: [UInt8](repeating: 0xEE, count: 32)) }
            ),
            (.answers([22, 3]), { $0 == .closed }),
        ]
        for (behaviour, expected) in cases {
            let server = try await OddServer(behaviour)
            let address = try SocketAddress(ipAddress: "127.0.0.1", port: server.port)
            let outcome = await ProbeFixtures.prober.attempt(
                Self.offer, addresses: [address], timeout: .milliseconds(400)
            ).outcome
            guard case .connection(let failure) = outcome else {
                Issue.record("\(behaviour): \(outcome)")
                continue
            }
            #expect(expected(failure), "\(behaviour): \(failure)")
            try await server.stop()
        }
    }

    @Test func aClosedPortIsRefusedAndAnUnknownNameIsNotFound() async throws {
        let closed = try HeldPort()
        #expect(try await ProbeFixtures.probe(Self.offer, port: closed.port) == .connection(.refused))
        let outcome = await ProbeFixtures.prober.probe(
            Self.offer, host: "nothing.invalid", port: 443, timeout: .seconds(20))
        switch outcome {
        case .connection(.nameNotFound), .connection(.timeout): break
        default: Issue.record("\(outcome)")
        }
    }

    @Test func whatTheSystemCannotReachIsUnreachableAtOnce() async throws {
        let broadcast = try SocketAddress(ipAddress: "255.255.255.255", port: 443)
        for _ in 0..<3 {
            let end = await ProbeFixtures.prober.attempt(Self.offer, addresses: [broadcast])
            guard case .connection(.unreachable) = end.outcome else {
                Issue.record("a broadcast address was reached")
                continue
            }
        }
    }

    /// The system takes two connections for a backlog of one and lets the others wait.
    @Test func theConnectTimeoutEndsWithTheConnection() async throws {
        let full = try HeldPort(isListening: true)
        let address = try SocketAddress(ipAddress: "127.0.0.1", port: full.port)
        let (short, long) = (Duration.milliseconds(200), Duration.seconds(4))
        let durations = await withTaskGroup(of: (HandshakeOutcome, Duration).self) { group in
            for _ in 0..<4 {
                group.addTask {
                    let clock = ContinuousClock()
                    let start = clock.now
                    let outcome = await ProbeFixtures.prober.attempt(
                        Self.offer, addresses: [address], connectTimeout: short, timeout: long
                    ).outcome
                    return (outcome, clock.now - start)
                }
            }
            return await group.reduce(into: [Duration]()) { durations, result in
                #expect(result.0 == .connection(.timeout))
                durations.append(result.1)
            }
        }
        #expect(Measuring.isOff || durations.filter { $0 >= short && $0 < long }.count == 2, "\(durations)")
        #expect(Measuring.isOff || durations.filter { $0 >= long }.count == 2, "\(durations)")
    }

    @Test func aCancelledProbeEndsWhetherItIsConnectedOrNot() async throws {
        let full = try HeldPort(isListening: true)
        let address = try SocketAddress(ipAddress: "127.0.0.1", port: full.port)
        let outcomes = try await withThrowingTaskGroup(of: HandshakeOutcome.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    await ProbeFixtures.prober.attempt(
                        Self.offer, addresses: [address], connectTimeout: .seconds(300), timeout: .seconds(300)
                    ).outcome
                }
            }
            // 1 is established, 2 has asked and waits.
            try await eventually("the probes connect") {
                TCPTable().rows.filter { $0.remotePort == full.port && [1, 2].contains($0.state) }.count >= 4
            }
            group.cancelAll()
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(outcomes == Array(repeating: .connection(.closed), count: 4))
    }

    @Test func alertsKeepTheirNumber() async throws {
        let server = try ProbeFixtures.server(\.rsa, ["-tls1_2", "-cipher", "AES128-GCM-SHA256"])
        let outcome = try await ProbeFixtures.probe(
            HelloOffer(minimumVersion: .tls12, suites: ProbeFixtures.forwardSecret), port: server.port)
        #expect(outcome == .alert(level: 2, description: 40))
        let modern = try ProbeFixtures.server(\.rsa, ["-tls1_3"])
        let old = try await ProbeFixtures.probe(
            HelloOffer(minimumVersion: .tls10, maximumVersion: .tls12, suites: ProbeFixtures.forwardSecret),
            port: modern.port)
        #expect(old == .alert(level: 2, description: 70))
    }

    @Test func theFirstAddressThatConnectsDecides() async throws {
        let server = try ProbeFixtures.server()
        let closed = try HeldPort()
        let port = closed.port
        let addresses = [
            try SocketAddress(ipAddress: "::1", port: port), try SocketAddress(ipAddress: "127.0.0.1", port: port),
            try SocketAddress(ipAddress: "127.0.0.1", port: server.port),
            try SocketAddress(ipAddress: "127.0.0.1", port: port),
        ]
        let end = await ProbeFixtures.prober.attempt(Self.offer, addresses: addresses)
        #expect(end.outcome.observation != nil && end.address == addresses[2])
    }

    @Test func theNameIsSentAndAddressesAreNot() async throws {
        let identities = try ProbeFixtures.required()
        let (certificate, key) = (identities.p256.certificatePath, identities.p256.keyPath)
        let server = try ProbeFixtures.server(
            \.rsa, ["-servername", "named.example", "-cert2", certificate, "-key2", key])
        let named = try await ProbeFixtures.probe(Self.offer, port: server.port, name: "named.example.")
        #expect(named.observation?.certificates.first == identities.p256.der)
        for name in ["127.0.0.1", "::1", "other.example", nil] {
            let outcome = try await ProbeFixtures.probe(Self.offer, port: server.port, name: name)
            #expect(outcome.observation?.certificates.first == identities.rsa.der)
        }
    }

    @Test("Staples and timestamps are read", arguments: ["-tls1_2", "-tls1_3"])
    func extras(_ version: String) async throws {
        let identities = try ProbeFixtures.required()
        let directory = try TemporaryDirectory()
        let staple = directory.path("staple.der")
        let index = directory.path("index.txt")
        let serial = try CertificateFacts(decoding: identities.rsa.der).serialNumber
        try "V\t401231235959Z\t\t\(serial)\tunknown\t/CN=rsa\n".write(toFile: index, atomically: true, encoding: .utf8)
        try OpenSSLProgram.run([
            "ocsp", "-index", index, "-CA", identities.root.certificatePath, "-rsigner",
            identities.root.certificatePath,
            "-rkey", identities.root.keyPath, "-issuer", identities.root.certificatePath, "-cert",
            identities.rsa.certificatePath, "-ndays", "7", "-respout", staple,
        ])
        let response = Array(try Data(contentsOf: URL(fileURLWithPath: staple)))
        // A SERVERINFOV2 file: context, extension number, length, body (openssl's SSL_CTX_use_serverinfo_ex). The context says in
        // which messages of TLS 1.2 (ServerHello, 0x80 and ClientHello) and TLS 1.3 (Certificate, 0x1000) it goes.
        let timestamps: [UInt8] = [0, 4, 0, 2, 1, 2]
        let entry: [UInt8] = [0, 0, 0x11, 0x80, 0, 18, 0, UInt8(timestamps.count)] + timestamps
        let info = directory.path("info.pem")
        try
            "-----BEGIN SERVERINFOV2 FOR SCT-----\n\(Data(entry).base64EncodedString())\n-----END SERVERINFOV2 FOR SCT-----\n"
            .write(toFile: info, atomically: true, encoding: .utf8)
        let server = try ProbeFixtures.server(\.rsa, [version, "-status_file", staple, "-serverinfo", info])
        let observation = try await ProbeFixtures.probe(Self.offer, port: server.port).observation
        #expect(observation?.stapledResponse == response)
        #expect(observation?.timestamps == timestamps)
        #expect(observation?.usesExtendedMasterSecret == (version == "-tls1_2"))
    }

    @Test("A retry request is followed", arguments: [NamedGroup.secp256r1, .secp384r1, .secp521r1])
    func retry(_ group: NamedGroup) async throws {
        let server = try ProbeFixtures.server(\.p256, ["-tls1_3", "-curves", Oracle.name(group)])
        var offer = Self.offer
        offer.keyShareGroups = [.x25519]
        let observation = try await ProbeFixtures.probe(offer, port: server.port).observation
        #expect(observation?.usedHelloRetryRequest == true && observation?.group == group)
        #expect(observation?.keyPossession == .proven)
        offer.groups = [.x25519]
        #expect(try await ProbeFixtures.probe(offer, port: server.port) == .alert(level: 2, description: 40))
    }

    @Test func overridesReplaceTheLookUp() async throws {
        let server = try ProbeFixtures.server()
        let override = AddressOverride(host: "Api.Example", port: server.port, address: "127.0.0.1")
        let resolver = NameResolver(overrides: [override])
        let prober = Prober(group: MultiThreadedEventLoopGroup.singleton, resolver: resolver)
        let outcome = await prober.probe(Self.offer, host: "api.example", port: server.port)
        #expect(outcome.observation != nil)
    }

    @Test func intermediatesAreFetchedWithinBounds() async throws {
        let chain = try ChainBuilderTests.Chain()
        let body = chain.intermediate.der
        let head = "HTTP/1.1 200 OK\r\nContent-Length: \(body.count)\r\n\r\n"
        let redirect = "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1/\r\nContent-Length: 0\r\n\r\n"
        let chunked =
            Array("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\(String(body.count, radix: 16))\r\n".utf8)
            + body
        let answers: [([UInt8], Bool)] = [
            (Array(head.utf8) + body, true), (Array("HTTP/1.0 200 OK\r\n\r\n".utf8) + body, true),
            (chunked + Array("\r\n0\r\n\r\n".utf8), true), (Array(redirect.utf8), false),
            (Array("HTTP/1.1 404 Not Found\r\n\r\n".utf8) + body, false),
            (Array(head.utf8) + body.dropLast(), false), (Array("garbage".utf8), false),
            (Array("HTTP/1.1 200 OK\r\n\r\n".utf8) + body + [UInt8](repeating: 0, count: 70_000), false),
            (Array("HTTP/1.1 200 OK\r\nx: ".utf8) + [UInt8](repeating: 0x79, count: 70_000), false),
            (Array("HTTP/1.1 200 OK\r\nContent-Length: -3\r\n\r\n".utf8) + body, false),
            (Array("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFF\r\n".utf8) + body, false),
            (Array("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nabc".utf8), false),
            (Array("HTTP/2 200\r\n\r\n".utf8) + body, false),
        ]
        let fetcher = HTTPIntermediateFetcher(group: MultiThreadedEventLoopGroup.singleton, timeout: .seconds(5))
        for (answer, works) in answers {
            let server = try await OddServer(.answers(answer))
            let address = "http://127.0.0.1:\(server.port)/ca.crt"
            let found = await fetcher.certificates(at: address, within: .anyNetwork)
            #expect(found == (works ? [body] : []))
            #expect(await fetcher.certificates(at: address, within: .publicAddresses).isEmpty)
            try await server.stop()
        }
        for address in ["https://127.0.0.1/", "http://user@127.0.0.1/", "http:///x", "http://127.0.0.1:0/", "ftp://a/"]
        {
            #expect(await fetcher.certificates(at: address, within: .anyNetwork).isEmpty)
        }
    }

    @Test("An intermediate is fetched from the next address if one refuses or says nothing")
    func intermediatesComeFromAnyAddress() async throws {
        let body = try ChainBuilderTests.Chain().intermediate.der
        let head = "HTTP/1.1 200 OK\r\nContent-Length: \(body.count)\r\n\r\n"
        let server = try await OddServer(.answers(Array(head.utf8) + body))
        let silent = try await OddServer(.silent, host: "127.0.0.2", port: server.port)
        let closing = try await OddServer(.closes, host: "127.0.0.3", port: server.port)
        // Nobody listens at 127.0.0.4.
        for addresses in ["127.0.0.4,127.0.0.1", "127.0.0.2,127.0.0.1", "127.0.0.4,127.0.0.3,127.0.0.2,127.0.0.1"] {
            let resolver = NameResolver(overrides: [
                try AddressOverride("issuer.example:\(server.port):\(addresses)")
            ])
            let group = MultiThreadedEventLoopGroup.singleton
            let fetcher = HTTPIntermediateFetcher(group: group, resolver: resolver, timeout: .seconds(4))
            let found = await fetcher.certificates(
                at: "http://issuer.example:\(server.port)/ca.crt", within: .anyNetwork)
            #expect(found == [body], "\(addresses)")
        }
        // The certificate chooses who is asked: not everybody.
        let many = (4..<40).map { "127.0.0.\($0)" }.joined(separator: ",") + ",127.0.0.1"
        let resolver = NameResolver(overrides: [try AddressOverride("issuer.example:\(server.port):\(many)")])
        let fetcher = HTTPIntermediateFetcher(group: MultiThreadedEventLoopGroup.singleton, resolver: resolver)
        let place = "http://issuer.example:\(server.port)/ca.crt"
        #expect(await fetcher.certificates(at: place, within: .anyNetwork).isEmpty)
        for server in [server, silent, closing] { try await server.stop() }
    }

    @Test("A certificate writes no lines into the request for its issuer, and cuts no name")
    func theHostOfAnIssuerIsAName() async throws {
        let body = try ChainBuilderTests.Chain().intermediate.der
        let head = "HTTP/1.1 200 OK\r\nContent-Length: \(body.count)\r\n\r\n"
        let server = try await OddServer(.answers(Array(head.utf8) + body))
        let hosts = [
            "a%0D%0AX%3A%20y.example": "a\r\nX: y.example", "127.0.0.1%00.example": "127.0.0.1\0.example",
            "a%20b.example": "a b.example", "[::1%25lo]": "::1%lo",
        ]
        for (written, host) in hosts {
            let resolver = NameResolver(overrides: [
                AddressOverride(host: host, port: server.port, address: "127.0.0.1")
            ])
            let fetcher = HTTPIntermediateFetcher(group: MultiThreadedEventLoopGroup.singleton, resolver: resolver)
            let address = "http://\(written):\(server.port)/ca.crt"
            #expect(await fetcher.certificates(at: address, within: .anyNetwork).isEmpty, "\(address)")
        }
        #expect(server.connections == 0)
        try await server.stop()
    }

    @Test(
        "Who is sent to an issuer connects to public addresses and to those of the server's own kind, and never to a metadata service",
        arguments: [
            ("192.0.2.1", "192.0.2.2", "127.0.0.1 ::1 10.0.0.1 169.254.1.1 fe80::1 0.0.0.0 :: ::ffff:0.0.0.0"),
            ("93.184.215.14", "", "127.0.0.1 ::ffff:127.0.0.1 64:ff9b::7f00:1 10.0.0.1 fd12::1 169.254.1.1 0.0.0.0"),
            (
                "127.0.0.1", "127.0.0.1 127.9.9.9 ::1 ::ffff:127.0.0.1 0.0.0.0",
                "10.0.0.1 192.168.1.1 169.254.1.1 fe80::1"
            ),
            ("10.1.2.3", "10.9.9.9 192.168.1.1 fd12::1", "127.0.0.1 ::1 169.254.1.1 fe80::1 0.0.0.0"),
            ("fe80::2", "", "169.254.1.1 fe80::1 127.0.0.1 10.0.0.1"),
            ("169.254.169.254", "", "169.254.1.1 127.0.0.1"),
        ]
    )
    func whereIssuersAreFetchedFrom(_ server: String, _ allowed: String, _ refused: String) throws {
        let never =
            " 169.254.169.254 ::ffff:169.254.169.254 64:ff9b::a9fe:a9fe 2002:a9fe:a9fe::1 169.254.170.2 fd00:ec2::254"
            + " fd20:ce::254 fe80::a9fe:a9fe 168.63.129.16 100.100.100.200"
        let scope = FetchScope(of: try SocketAddress(ipAddress: server, port: 443))
        func check(_ scope: FetchScope, _ texts: String, _ expected: Bool) throws {
            for text in texts.split(separator: " ") {
                #expect(
                    scope.allows(try SocketAddress(ipAddress: String(text), port: 80)) == expected, "\(server): \(text)"
                )
            }
        }
        try check(scope, allowed + " 93.184.215.14 2606:2800:21f::1", true)
        try check(scope, refused + never, false)
        try check(.anyNetwork, "127.0.0.1 10.0.0.1 93.184.215.14", true)
        try check(.anyNetwork, never + " 169.254.1.1 fe80::1", false)
        try check(.named, never + " 127.0.0.1 10.0.0.1 fe80::1", true)
        try check(.anyServer, never + " 169.254.1.1 fe80::1 224.0.0.1", false)
        try check(.remote(allowsPrivate: true), "10.0.0.1 fd12::1", true)
        try check(.remote(allowsPrivate: true), never + " 127.0.0.1 ::1 0.0.0.0", false)
        try check(.remote(allowsPrivate: false), "10.0.0.1", false)
        // On a way over several servers each counts.
        try check(scope.within(.publicAddresses), allowed, false)
        #expect(scope.within(.named) == scope && FetchScope.named.within(scope) == scope)
    }

    @Test("A certificate of a public or a private server makes nobody connect to loopback, by whatever name")
    func issuersOnLoopbackAreForServersOnLoopback() async throws {
        let chain = try ChainBuilderTests.Chain()
        let head = "HTTP/1.1 200 OK\r\nContent-Length: \(chain.intermediate.der.count)\r\n\r\n"
        let server = try await OddServer(.answers(Array(head.utf8) + chain.intermediate.der))
        let resolver = NameResolver(overrides: [
            AddressOverride(host: "ca.example", port: server.port, address: "127.0.0.1"),
            try AddressOverride("both.example:\(server.port):169.254.169.254,127.0.0.1"),
        ])
        let fetcher = HTTPIntermediateFetcher(group: MultiThreadedEventLoopGroup.singleton, resolver: resolver)
        for host in ["127.0.0.1", "ca.example", "both.example", "[::ffff:127.0.0.1]"] {
            let address = "http://\(host):\(server.port)/ca.crt"
            for kind in [AddressKind.global, .privateNetwork, .linkLocal, .metadata, .special] {
                #expect(await fetcher.certificates(at: address, within: FetchScope(of: kind)).isEmpty, "\(address)")
            }
            #expect(server.connections == 0)
        }
        for host in ["127.0.0.1", "ca.example", "both.example"] {
            let found = await fetcher.certificates(
                at: "http://\(host):\(server.port)/ca.crt", within: FetchScope(of: AddressKind.loopback))
            #expect(found == [chain.intermediate.der])
        }
        try await server.stop()
    }
}
