// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ATSClient
import AppTransportSecurity
import AsyncHTTPClient
import BenchReport
import Foundation
import HTTPTypes
import NIOConcurrencyHelpers
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import TLSProbe

/// Throughput of `ATSClient` beside AsyncHTTPClient against the same loopback HTTPS server, kept and fresh connections, in one run.
/// Required: at least 0.9 of AsyncHTTPClient's.
@main
enum ClientBench {
    static func main() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("client-bench-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let identity = try Identity.make(in: folder.path)
        let tally = NIOLockedValueBox(Tally())
        let server = try await serve(identity, tally)
        let port = server.localAddress?.port ?? 0
        print("HTTPS on loopback, bodies of 1000 bytes, 64 in flight, requests a second, best of \(rounds) rounds")
        var isShort = false
        for (name, isKept, count) in [("keep-alive", true, 20_032), ("fresh connections", false, 1_024)] {
            var (ours, theirs) = (0.0, 0.0)
            for _ in 0..<rounds {
                theirs = max(
                    theirs,
                    try await counted(tally, isKept, count) { try await reference(port, identity, isKept, count) }
                )
                ours = max(
                    ours,
                    try await counted(tally, isKept, count) { try await measured(port, identity, isKept, count) }
                )
            }
            isShort = !figure("\(name): ATSClient against AsyncHTTPClient", ours / theirs, .atLeast(0.9)) || isShort
            print(
                String(
                    format: "%-18@ ATSClient %8.0f/s, AsyncHTTPClient %8.0f/s",
                    name as NSString,
                    ours,
                    theirs
                )
            )
        }
        let plain = try await serve(nil, tally)
        for (isSecure, isKept) in [(false, true), (false, false), (true, true), (true, false)] {
            let port = (isSecure ? server : plain).localAddress?.port ?? 0
            isShort = !(try await Soak(isSecure: isSecure, isKept: isKept, port: port).run(identity, tally)) || isShort
        }
        try await plain.close()
        try await server.close()
        try? FileManager.default.removeItem(at: folder)
        exit(isShort ? 1 : 0)
    }

    private static let rounds = 5
    /// Loads before the clock runs.
    private static let warmUp = 10

    /// What the server saw.
    struct Tally {
        var connections = 0
        var requests = 0
    }

    /// Asserts that every load of a round reached the server, over as many connections as the round is about.
    private static func counted(
        _ tally: NIOLockedValueBox<Tally>,
        _ isKept: Bool,
        _ count: Int,
        _ round: @Sendable () async throws -> Double
    ) async throws -> Double {
        tally.withLockedValue { $0 = Tally() }
        let rate = try await round()
        let seen = tally.withLockedValue { $0 }
        guard seen.requests == count + warmUp, isKept ? seen.connections <= 64 : seen.connections >= count + warmUp
        else {
            throw WrongAnswer(
                seen: "\(seen.requests) requests on \(seen.connections) connections for \(count + warmUp) loads"
            )
        }
        return rate
    }

    private static func measured(_ port: Int, _ identity: Identity, _ isKept: Bool, _ count: Int) async throws -> Double
    {
        var trust = TrustAnchors()
        try trust.add(file: identity.authority, kind: .installed)
        var configuration = ATSClient.Configuration()
        configuration.offersHTTP2 = false
        configuration.connectionsPerHost = 64
        let policy = ATSPolicy(dictionary: ATSDictionary(nil), profile: .standard)
        let client = ATSClient(policy: policy, trust: trust, configuration: configuration)
        var request = HTTPRequest(method: .get, scheme: "https", authority: "localhost:\(port)", path: "/")
        if !isKept { request.headerFields[.connection] = "close" }
        let prepared = request
        let rate = try await rate(count) {
            let response = try await client.execute(prepared)
            guard try await response.body.collect(upTo: 1 << 20).readableBytes == 1000 else { throw WrongAnswer() }
        }
        await client.shutDown()
        return rate
    }

    private static func reference(
        _ port: Int, _ identity: Identity, _ isKept: Bool, _ count: Int
    ) async throws
        -> Double
    {
        var configuration = HTTPClient.Configuration()
        configuration.httpVersion = .http1Only
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = 64
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.trustRoots = .file(identity.authority)
        configuration.tlsConfiguration = tls
        let client = HTTPClient(eventLoopGroup: MultiThreadedEventLoopGroup.singleton, configuration: configuration)
        var request = HTTPClientRequest(url: "https://localhost:\(port)/")
        if !isKept { request.headers.add(name: "connection", value: "close") }
        let prepared = request
        let rate = try await rate(count) {
            let response = try await client.execute(prepared, timeout: .seconds(30))
            guard try await response.body.collect(upTo: 1 << 20).readableBytes == 1000 else { throw WrongAnswer() }
        }
        try await client.shutdown()
        return rate
    }

    private struct WrongAnswer: Error {
        var seen = ""
    }

    /// Requests a second with 64 in flight.
    private static func rate(_ count: Int, _ load: @escaping @Sendable () async throws -> Void) async throws -> Double {
        for _ in 0..<warmUp { try await load() }
        let start = ContinuousClock.now
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<64 { group.addTask { for _ in 0..<(count / 64) { try await load() } } }
            try await group.waitForAll()
        }
        let seconds = (ContinuousClock.now - start) / .seconds(1)
        return Double(count / 64 * 64) / seconds
    }

    /// - Parameter identity: nil for plain HTTP.
    private static func serve(_ identity: Identity?, _ tally: NIOLockedValueBox<Tally>) async throws -> any Channel {
        let context = try identity.map { identity in
            let certificates = try NIOSSLCertificate.fromPEMFile(identity.chain).map {
                NIOSSLCertificateSource.certificate($0)
            }
            let key = try NIOSSLPrivateKey(file: identity.key, format: .pem)
            return try NIOSSLContext(
                configuration: .makeServerConfiguration(certificateChain: certificates, privateKey: .privateKey(key))
            )
        }
        return try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.backlog, value: 512)
            .childChannelInitializer { channel in
                tally.withLockedValue { $0.connections += 1 }
                return channel.eventLoop.makeCompletedFuture {
                    if let context {
                        try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: context))
                    }
                    try channel.pipeline.syncOperations.configureHTTPServerPipeline()
                    try channel.pipeline.syncOperations.addHandler(Answer(tally))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
    }

    private final class Answer: ChannelInboundHandler {
        typealias InboundIn = HTTPServerRequestPart
        typealias OutboundOut = HTTPServerResponsePart

        private static let body = ByteBuffer(repeating: 120, count: 1000)
        private let tally: NIOLockedValueBox<Tally>
        private var isKept = true

        init(_ tally: NIOLockedValueBox<Tally>) { self.tally = tally }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            switch unwrapInboundIn(data) {
            case .head(let head): isKept = head.isKeepAlive
            case .body: break
            case .end:
                tally.withLockedValue { $0.requests += 1 }
                let fields: HTTPHeaders =
                    isKept ? ["content-length": "1000"] : ["content-length": "1000", "connection": "close"]
                context.write(
                    wrapOutboundOut(.head(HTTPResponseHead(version: .http1_1, status: .ok, headers: fields))),
                    promise: nil
                )
                context.write(wrapOutboundOut(.body(.byteBuffer(Self.body))), promise: nil)
                context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
                if !isKept { context.close(promise: nil) }
            }
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
    }
}

/// An authority and a certificate for localhost, made by the openssl program.
struct Identity: Sendable {
    let authority: String
    let chain: String
    let key: String

    static func make(in folder: String) throws -> Identity {
        let identity = Identity(authority: folder + "/ca.pem", chain: folder + "/leaf.pem", key: folder + "/leaf.key")
        let extensions =
            "subjectAltName=DNS:localhost\nextendedKeyUsage=serverAuth\nbasicConstraints=critical,CA:FALSE\n"
        try Data(extensions.utf8).write(to: URL(fileURLWithPath: folder + "/ext"))
        try openssl(
            "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 30 -subj /CN=bench-root -keyout \(folder)/ca.key -out \(identity.authority)"
                + " -addext keyUsage=critical,keyCertSign"
        )
        try openssl(
            "req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=localhost -keyout \(identity.key) -out \(folder)/leaf.csr"
        )
        try openssl(
            "x509 -req -in \(folder)/leaf.csr -CA \(identity.authority) -CAkey \(folder)/ca.key -CAcreateserial -days 30 -sha256"
                + " -extfile \(folder)/ext -out \(identity.chain)"
        )
        return identity
    }

    private static func openssl(_ arguments: String) throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["openssl"] + arguments.split(separator: " ").map(String.init)
        process.standardError = FileHandle.nullDevice
        process.standardOutput = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw CocoaError(.fileWriteUnknown) }
    }
}
