// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import Crypto
import NIOCore
import NIOEmbedded
import NIOHTTP1
import NIOPosix
import NIOSSL
import Synchronization
import TLSProbe
import TestSupport
import Testing
import Vocabulary

@testable import ATSClient

/// Redirects whose end the load cannot know, or that lead to no URL, and servers that end the connection after one.
struct RedirectTests {
    private static func load(_ head: String) async throws -> LoadReport {
        let (reports, report) = AsyncStream.makeStream(of: LoadReport.self)
        let answer = "HTTP/1.1 302 Found\r\nContent-Length: 0\r\n\(head)\r\n"
        try await RawServer.with({ ScriptedServer(ScriptedServer.Script([.text(answer)])) }) { server in
            var configuration = ATSClient.Configuration()
            configuration.totalTimeout = .seconds(10)
            let policy = try Fixture.policy("{}")
            let client = ATSClient(policy: policy, trust: TrustAnchors(), configuration: configuration)
            report.yield(await client.load("http://127.0.0.1:\(server.port)/"))
            await client.shutDown(grace: .zero)
        }
        var iterator = reports.makeAsyncIterator()
        return try #require(await iterator.next())
    }

    @Test("A loop that sets a cookie is undetermined: a client that sends it back may get through")
    func cookies() async throws {
        let loop = try await Self.load("Location: /\r\n")
        #expect(loop.result == .refused && loop.because.map(\.code) == [.httpRedirectLoop])
        let cookie = try await Self.load("Location: /\r\nSet-Cookie: seen=1\r\n")
        #expect(cookie.result == .noAnswer)
        #expect(cookie.because.map(\.code) == [.httpRedirectNeedsCookie])
        #expect(cookie.because.first?.message.contains("a cookie was set on the way") == true, "\(cookie.because)")
        #expect(cookie.error?.code == -1007)
        // The cookie of the first answer counts in the loop that follows.
        let other = try await Self.load("Location: /other\r\nset-cookie: seen=1; Path=/; Secure\r\n")
        #expect(other.because.map(\.code) == [.httpRedirectNeedsCookie])
    }

    @Test("A redirect to a URL that cannot be read is the server's fault, not a malformed input")
    func unreadable() async throws {
        for location in ["//evil.example:99999/", "http://evil.example:0/", "https://a_b%00.example/"] {
            let report = try await Self.load("Location: \(location)\r\n")
            #expect(report.result == .refused, "\(location)")
            #expect(report.because.map(\.code) == [.httpRedirectBlocked], "\(location): \(report.because)")
        }
        let report = try await Self.load("Location: //evil.example:99999/\r\n")
        let message = report.because.first?.message ?? ""
        #expect(
            message.hasPrefix("The redirect leads to 'http://evil.example:99999/', which is not a URL: "), "\(message)")
        #expect(report.hops.map(\.status) == [302, nil])
    }

    /// Hands the continuations of two waiting tasks to one thread.
    private final class Waiting: Sendable {
        typealias Continuation = CheckedContinuation<WireResponse, any Error>
        private let all = Mutex<[Int: Continuation]>([:])

        func answer(_ number: Int) async throws -> WireResponse {
            try await withCheckedThrowingContinuation { continuation in all.withLock { $0[number] = continuation } }
        }

        /// The two, once both wait.
        func both() async throws -> (Continuation, Continuation) {
            while true {
                let both = all.withLock { all in all[1].flatMap { first in all[2].map { (first, $0) } } }
                if let both { return both }
                try Task.checkCancellation()
                await Task.yield()
            }
        }
    }

    /// What was answered belongs to the exchange before: what comes next was not answered, and may be sent again.
    @Test("However an idle connection ends, the next request on it was closed before an answer")
    func idleEnds() async throws {
        let errors: [any Error] = [
            NIOSSLError.uncleanShutdown, ChannelError.inputClosed, HTTPParserError.invalidEOFState,
            HTTPParserError.unknown,
        ]
        for error in errors {
            let waiting = Waiting()
            async let first = waiting.answer(1)
            async let second = waiting.answer(2)
            let (one, two) = try await waiting.both()
            try Self.exchange(one, then: error, two)
            #expect(try await first.head.status == .found)
            do {
                _ = try await second
                Issue.record("\(error): an answer came")
            } catch let failure as ExchangeFailure {
                #expect(failure.reason == .closedBeforeAnswer && !failure.answerHadBegun, "\(error)")
            }
        }
    }

    /// One exchange, then an error of the channel, then the next exchange.
    private static func exchange(_ one: Waiting.Continuation, then error: any Error, _ two: Waiting.Continuation) throws
    {
        let channel = EmbeddedChannel()
        let handler = ExchangeHandler(isStream: false, keepAlive: .seconds(60), loop: channel.eventLoop)
        try channel.pipeline.syncOperations.addHandler(handler)
        channel.connect(to: try SocketAddress(ipAddress: "192.0.2.1", port: 443), promise: nil)
        let request = WireRequest(
            head: HTTPRequestHead(version: .http1_1, method: .GET, uri: "/"), body: .empty, deadline: nil,
            idleTimeout: nil, bodyLimit: nil, toleratesUncleanClose: true)
        handler.begin(Exchange(request) { _ in }, one)
        let head = HTTPResponseHead(version: .http1_1, status: .found, headers: ["content-length": "0"])
        try channel.writeInbound(HTTPClientResponsePart.head(head))
        try channel.writeInbound(HTTPClientResponsePart.end(nil))
        channel.pipeline.fireErrorCaught(error)
        handler.begin(Exchange(request) { _ in }, two)
        _ = try? channel.finish(acceptAlreadyClosed: true)
    }

    /// Answers each request with a redirect to the next number, and ends TCP without a word of TLS.
    private final class AbruptServer: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer

        /// Redirects before the end.
        static let count = 12

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            let request = String(buffer: unwrapInboundIn(data))
            let number = request.split(separator: " ").dropFirst().first.flatMap { Int($0.dropFirst()) } ?? 0
            let answer =
                number < Self.count
                ? "HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: /\(number + 1)\r\n\r\n"
                : "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
            let tls = try? context.pipeline.syncOperations.context(handlerType: NIOSSLServerHandler.self)
            let bound = NIOLoopBound(tls, eventLoop: context.eventLoop)
            context.writeAndFlush(NIOAny(ByteBuffer(string: answer)))
                // Below TLS, which would say goodbye.
                .whenComplete { _ in bound.value?.close(promise: nil) }
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
    }

    @Test("A connection that ends without a goodbye after a redirect is replaced by a new one")
    func abruptEnds() async throws {
        let identity = HostileIdentity.shared
        let context = try NIOSSLContext(
            configuration: .makeServerConfiguration(
                certificateChain: [.certificate(try NIOSSLCertificate(bytes: identity.leaf, format: .der))],
                privateKey: .privateKey(
                    try NIOSSLPrivateKey(bytes: Array(identity.key.derRepresentation), format: .der))))
        let server = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandlers([
                        NIOSSLServerHandler(context: context), AbruptServer(),
                    ])
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        let port = server.localAddress?.port ?? 0
        for toleratesUncleanClose in [true, false] {
            var configuration = ATSClient.Configuration()
            configuration.addressOverrides = [AddressOverride(host: "*", port: port, address: "127.0.0.1")]
            configuration.totalTimeout = .seconds(20)
            configuration.toleratesUncleanClose = toleratesUncleanClose
            let trust = try HostileTLSTests.trust()
            let client = ATSClient(policy: try Fixture.policy("{}"), trust: trust, configuration: configuration)
            for _ in 0..<4 {
                let report = await client.load("https://a.\(HostileIdentity.domain):\(port)/0")
                #expect(report.status == 200, "\(report.because)")
                #expect(report.hops.count == AbruptServer.count + 1)
            }
            await client.shutDown(grace: .zero)
        }
        try await server.close()
    }
}
