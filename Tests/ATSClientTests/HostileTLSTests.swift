// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ATSClient
import AppTransportSecurity
import Foundation
import NIOCore
import NIOPosix
import TLSModel
import TLSProbe
import TestSupport
import Testing
import Vocabulary

/// The scripted TLS servers against loads and against the proxy.
@Suite("Misbehaving TLS servers against client and proxy", .serialized) struct HostileTLSTests {
    /// The rows that are played: all of them, or one of three in CI beside those that go on after the handshake.
    static let rows: [(index: Int, row: TLSMisbehaviour)] = TLSMisbehaviour.all.enumerated().map { ($0, $1) }
        .filter { LongForm.isAsked || $0.0 % 3 == 0 || $0.1.name.hasPrefix("after") || $0.1.name.contains("marks") }

    static func trust() throws -> TrustAnchors {
        try TrustAnchors(pem: Array(HostileIdentity.shared.rootPEM.utf8), kind: .installed, store: "test")
    }

    /// Runs `body` for each row, 32 at a time.
    static func eachRow<Result: Sendable>(
        _ body: @escaping @Sendable (Int, TLSMisbehaviour) async throws -> Result,
        check: (TLSMisbehaviour, Result) throws -> Void
    ) async throws {
        try await withThrowingTaskGroup(of: (TLSMisbehaviour, Result).self) { group in
            var waiting = rows[...]
            func start() {
                guard let (index, row) = waiting.popFirst() else { return }
                group.addTask { (row, try await body(index, row)) }
            }
            for _ in 0..<32 { start() }
            while let (row, result) = try await group.next() {
                try check(row, result)
                start()
            }
        }
    }

    @Test("A load ends with an error of its own, in time")
    func loads() async throws {
        let server = try HostileServer()
        var configuration = ATSClient.Configuration()
        configuration.addressOverrides = [AddressOverride(host: "*", port: server.port, address: "127.0.0.1")]
        configuration.connectTimeout = .seconds(2)
        configuration.idleTimeout = .seconds(2)
        configuration.totalTimeout = .seconds(5)
        let client = ATSClient(policy: try Fixture.policy("{}"), trust: try Self.trust(), configuration: configuration)
        let port = server.port
        try await Self.eachRow { index, _ in
            let start = ContinuousClock.now
            let report = await client.load("https://\(HostileServer.host(index)):\(port)/", bodyLimit: 1 << 20)
            return (report, ContinuousClock.now - start)
        } check: { row, result in
            let (report, elapsed) = result
            #expect(report.result != .loaded, "\(row.name)")
            #expect(report.because.first.map { $0.code.rawValue.hasPrefix("ats.") } == true, "\(row.name)")
            #expect(report.because.allSatisfy { $0.message.utf8.count < 4096 }, "\(row.name)")
            // What the TLS library says is a reason, not the name of its macro or a path of the machine that built this program.
            for text in ["OPENSSL_internal", ".cc:", "Sources/"] {
                #expect(!report.because.contains { $0.message.contains(text) }, "\(row.name): \(report.because)")
            }
            if let code = row.code, code.hasPrefix("ats.trust."), row.outcome == .negotiated {
                #expect(report.result == .refused, "\(row.name): \(report.because.first?.description ?? "")")
            }
            // A timeout of the load, and what a machine with two busy cores adds.
            #expect(Measuring.isOff || elapsed < .seconds(12), "\(row.name)")
        }
        await client.shutDown(grace: .milliseconds(200))
        // Servers that answer no close_notify hold their connections for the five seconds that the TLS library waits for one.
        try await eventually("nothing stays open") { client.openConnections == 0 }
    }

    @Test("What a handshake says in the clear is read within its bounds, in pieces of any size", arguments: [7, 2048])
    func flights(pieces: Int) throws {
        for (_, row) in Self.rows {
            var client = ClientHandshake(
                offer: HelloOffer(
                    suites: [.aes128GCMSHA256], serverName: HostileServer.host(0), keyShareGroups: [.x25519]),
                secrets: .fresh())
            var session = HostileSession(try #require(SeenHello(records: client.start())))
            var flight = ServerFlight()
            var sent = 0
            for act in row.play(&session) where !flight.isOver {
                guard let bytes = act.bytes else { continue }
                let limit = if case .flood(_, let limit) = act { max(limit, 1) } else { 1 }
                var times = 0
                repeat {
                    for start in stride(from: 0, to: bytes.count, by: pieces) where !flight.isOver {
                        let piece = bytes[start..<min(start + pieces, bytes.count)]
                        sent += piece.count
                        flight.read(Array(piece))
                    }
                    times += bytes.count
                } while times < limit && !flight.isOver
            }
            #expect(sent <= WireLimits.flight + 20_000, "\(row.name)")
        }
    }

    @Test("The proxy refuses each of them, and goes on for everybody else")
    func proxy() async throws {
        let server = try HostileServer()
        let honest = try #require(TLSMisbehaviour.all.firstIndex { $0.name == "an honest server" })
        let place = server.port
        try await Self.withProxy(to: place) { port in
            try await Self.eachRow { index, _ in
                try await Self.connect(port, "\(HostileServer.host(index)):\(place)")
            } check: { row, answer in
                let wanted = row.code == nil ? "200" : row.isUndetermined ? "502" : "403"
                #expect(answer.dropFirst(9).prefix(3) == wanted, "\(row.name): \(answer.prefix(300))")
            }
            #expect(try await Self.connect(port, "\(HostileServer.host(honest)):\(place)").hasPrefix("HTTP/1.1 200"))
        }
    }

    /// A proxy that trusts the hostile root and looks up nothing.
    private static func withProxy(to place: Int, _ body: @Sendable (Int) async throws -> Void) async throws {
        try await RunningProxy.plain(
            fetcher: HTTPIntermediateFetcher(group: MultiThreadedEventLoopGroup.singleton), trust: try trust(),
            { $0.addressOverrides = [AddressOverride(host: "*", port: place, address: "127.0.0.1")] },
            body: { try await body($0.port) })
    }

    /// The head of the answer to a CONNECT.
    private static func connect(_ port: Int, _ authority: String) async throws -> String {
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let promise = loop.makePromise(of: String.self)
        let channel = try await ClientBootstrap(group: loop)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(HeadCollector(promise))
                }
            }
            .connect(host: "127.0.0.1", port: port).get()
        channel.writeAndFlush(
            ByteBuffer(string: "CONNECT \(authority) HTTP/1.1\r\nHost: \(authority)\r\n\r\n"), promise: nil)
        let timer = loop.scheduleTask(in: .seconds(20)) { channel.close(promise: nil) }
        defer { timer.cancel() }
        return try await promise.futureResult.get()
    }

    /// Collects up to the empty line, and hangs up.
    private final class HeadCollector: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer

        private var text = ""
        private let promise: EventLoopPromise<String>

        init(_ promise: EventLoopPromise<String>) { self.promise = promise }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            text += String(buffer: unwrapInboundIn(data))
            if text.utf8.count > 64 << 10 || text.contains("\r\n\r\n") { context.close(promise: nil) }
        }

        func channelInactive(context: ChannelHandlerContext) { promise.succeed(text) }

        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
    }
}
