// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ATSDiagnostics
import AppTransportSecurity
import Crypto
import FoundationEssentials
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import PropertyLists
import SwiftASN1
import TLSProbe
import Vocabulary
import X509
import _CryptoExtras

/// The first half of the demonstration: an app checks its servers.
struct DemoServers {
    /// What the check said about one server.
    struct Row {
        let host: String
        let flaw: String
        let result: String
        let code: String
        /// The keys of the smallest exception, if one is needed and helps.
        let exception: String?

        var cells: [String] { [host, flaw, result, code] }

        /// The good server passes, every flawed one fails for a reason.
        var isAsExpected: Bool { flaw == "none" ? result == "PASS" : result == "FAIL" && !code.isEmpty }
    }

    /// Which servers an exception helps: the keys are too long for a column.
    static func exceptions(_ rows: [Row]) -> String {
        let helped = rows.compactMap { row in row.exception.map { "\(row.host) loads with \($0)" } }
        return (helped + ["no exception helps the others"]).joined(separator: "; ")
    }

    /// Starts the servers, checks them, stops them.
    static func check(in folder: String, now: Date) async throws -> [Row] {
        let authority = try DemoAuthority(name: "Demonstration Root", now: now)
        let stranger = try DemoAuthority(name: "Somebody Else's Root", now: now)
        let roots = folder + "/demo-root.pem"
        try Data(authority.rootPEM.utf8).write(to: URL(fileURLWithPath: roots))
        var servers: [FlawedServer] = []
        for recipe in try FlawedServer.catalog(authority, stranger) {
            servers.append(try await FlawedServer.start(recipe))
        }
        defer { for server in servers { Task { await server.stop() } } }

        var configuration = CheckSession.Configuration()
        configuration.installedRoots = [roots]
        configuration.overrides = servers.map {
            AddressOverride(host: $0.recipe.host, port: $0.port, address: "127.0.0.1")
        }
        let session = try CheckSession(configuration)
        let targets = try servers.map { try CheckTarget("https://\($0.recipe.host):\($0.port)/") }
        var reports: [Int: TargetReport] = [:]
        try await session.run(targets, concurrency: targets.count) { reports[$0] = $1 }
        return servers.enumerated().compactMap { index, server in
            guard let report = reports[index], let first = report.results.first else { return nil }
            return Row(
                host: server.recipe.host, flaw: server.recipe.flaw, result: first.result.rawValue,
                code: first.because.first?.code.rawValue ?? "",
                exception: DemoServers.words(report.smallestException, host: server.recipe.host))
        }
    }

    /// The smallest exception in a few words: the keys below the host.
    private static func words(_ exception: SmallestException, host: String) -> String? {
        switch exception {
        case .none, .noneHelps: return nil
        case .dictionary(let value):
            let entry = value.exceptions[host]?.propertyListValue.members ?? [:]
            return entry.sorted { $0.key < $1.key }.map { key, value in
                switch value {
                case .boolean(let flag): "\(key) = \(flag)"
                case .string(let text): "\(key) = \(text)"
                default: key
                }
            }.joined(separator: ", ")
        }
    }
}

/// One HTTPS server on loopback with settings that an app may or may not accept.
struct FlawedServer: Sendable {
    struct Recipe: Sendable {
        /// The host that clients ask for.
        let host: String
        /// In words, for people.
        let flaw: String
        let identity: DemoAuthority.Identity
        var minimum = NIOSSL.TLSVersion.tlsv12
        var maximum = NIOSSL.TLSVersion.tlsv13
        /// BoringSSL's names; nil for its defaults.
        var suites: String?
    }

    let recipe: Recipe
    let port: Int
    private let channel: any Channel

    static func start(_ recipe: Recipe) async throws -> FlawedServer {
        let certificate = try NIOSSLCertificate(bytes: recipe.identity.certificate, format: .der)
        let key = try NIOSSLPrivateKey(bytes: recipe.identity.privateKey, format: .der)
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: [.certificate(certificate)], privateKey: .privateKey(key))
        configuration.minimumTLSVersion = recipe.minimum
        configuration.maximumTLSVersion = recipe.maximum
        if let suites = recipe.suites { configuration.cipherSuites = suites }
        let context = try NIOSSLContext(configuration: configuration)
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: context))
                    try channel.pipeline.syncOperations.configureHTTPServerPipeline()
                    try channel.pipeline.syncOperations.addHandler(HelloHandler())
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        return FlawedServer(recipe: recipe, port: channel.localAddress?.port ?? 0, channel: channel)
    }

    func stop() async { try? await channel.close() }
}

/// Answers every request with 200 and one line.
private final class HelloHandler: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard case .end = unwrapInboundIn(data) else { return }
        let body = ByteBuffer(string: "hello\n")
        let headers = HTTPHeaders([("content-length", String(body.readableBytes)), ("content-type", "text/plain")])
        context.write(
            wrapOutboundOut(.head(HTTPResponseHead(version: .http1_1, status: .ok, headers: headers))), promise: nil)
        context.write(wrapOutboundOut(.body(.byteBuffer(body))), promise: nil)
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // Failed handshakes are what these servers are for.
        context.close(promise: nil)
    }
}

extension FlawedServer {
    /// The servers of the demonstration: one good and five flawed.
    static func catalog(_ authority: DemoAuthority, _ stranger: DemoAuthority) throws -> [Recipe] {
        [
            Recipe(host: "good.demo.test", flaw: "none", identity: try authority.identity(for: "good.demo.test")),
            Recipe(
                host: "old-tls.demo.test", flaw: "TLS 1.1 at most",
                identity: try authority.identity(for: "old-tls.demo.test", usesRSA: true), minimum: .tlsv1,
                maximum: .tlsv11),
            Recipe(
                host: "no-secrecy.demo.test", flaw: "RSA key exchange only",
                identity: try authority.identity(for: "no-secrecy.demo.test", usesRSA: true), maximum: .tlsv12,
                suites: "AES128-GCM-SHA256"),
            Recipe(
                host: "expired.demo.test", flaw: "certificate expired",
                identity: try authority.identity(for: "expired.demo.test", daysLeft: -3)),
            Recipe(
                host: "other-name.demo.test", flaw: "certificate for another host",
                identity: try authority.identity(for: "elsewhere.demo.test")),
            Recipe(
                host: "stranger.demo.test", flaw: "unknown authority",
                identity: try stranger.identity(for: "stranger.demo.test")),
        ]
    }
}

/// A certificate authority that exists for the length of the demonstration, and the certificates that it issues.
struct DemoAuthority {
    /// A server's certificate with its private key, both as DER.
    struct Identity: Sendable {
        let certificate: [UInt8]
        let privateKey: [UInt8]
    }

    private let key = Certificate.PrivateKey(P256.Signing.PrivateKey())
    private let name: DistinguishedName
    private let now: Date
    let rootPEM: String

    init(name text: String, now: Date) throws {
        self.now = now
        let subject = try DistinguishedName { CommonName(text) }
        name = subject
        let publicKey = key.publicKey
        let root = try Certificate(
            version: .v3,
            serialNumber: .init(),
            publicKey: publicKey,
            notValidBefore: now.addingTimeInterval(-3600),
            notValidAfter: now.addingTimeInterval(30 * 86_400),
            issuer: subject,
            subject: subject,
            signatureAlgorithm: .ecdsaWithSHA256,
            extensions: try Certificate.Extensions {
                Critical(BasicConstraints.isCertificateAuthority(maxPathLength: 0))
                Critical(KeyUsage(keyCertSign: true, cRLSign: true))
                SubjectKeyIdentifier(hash: publicKey)
            },
            issuerPrivateKey: key
        )
        rootPEM = try root.serializeAsPEM().pemString + "\n"
    }

    /// Issues a certificate for one host.
    ///
    /// - Parameters:
    ///   - daysLeft: How many days it is still valid; negative for one that has expired.
    ///   - usesRSA: An RSA key of 2048 bits instead of a P-256 key.
    func identity(for host: String, daysLeft: Double = 30, usesRSA: Bool = false) throws -> Identity {
        let own =
            usesRSA
            ? Certificate.PrivateKey(try _RSA.Signing.PrivateKey(keySize: .bits2048))
            : Certificate.PrivateKey(P256.Signing.PrivateKey())
        let certificate = try Certificate(
            version: .v3,
            serialNumber: .init(),
            publicKey: own.publicKey,
            notValidBefore: now.addingTimeInterval(min(-3600, (daysLeft - 60) * 86_400)),
            notValidAfter: now.addingTimeInterval(daysLeft * 86_400),
            issuer: name,
            subject: try DistinguishedName { CommonName(host) },
            signatureAlgorithm: .ecdsaWithSHA256,
            extensions: try Certificate.Extensions {
                Critical(BasicConstraints.notCertificateAuthority)
                Critical(KeyUsage(digitalSignature: true, keyEncipherment: usesRSA))
                try ExtendedKeyUsage([.serverAuth])
                SubjectAlternativeNames([.dnsName(host)])
                AuthorityKeyIdentifier(keyIdentifier: SubjectKeyIdentifier(hash: key.publicKey).keyIdentifier)
            },
            issuerPrivateKey: key
        )
        return Identity(
            certificate: try certificate.serializeAsPEM().derBytes, privateKey: try own.serializeAsPEM().derBytes)
    }
}
