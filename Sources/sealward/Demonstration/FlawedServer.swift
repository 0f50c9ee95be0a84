// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL

/// One HTTPS server on loopback with settings that an app may or may not accept.
struct FlawedServer: Sendable {
    /// What a server is like.
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
