// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ATSClient
import AppTransportSecurity
import Foundation
import NIOCore
import NIOPosix
import TLSProbe
import TestSupport
import Testing
import Vocabulary

/// Client and proxy against the verdicts that `ats check` must yield, for every loopback server under five dictionaries.
///
/// The differences stand in `Tests/Vectors/agreement/differences.json` with their reasons; this fails when one heals and when a new one appears.
@Suite(.enabled(if: LoopbackServers.isAvailable))
struct AgreementTests {
    struct Dictionary: Sendable, CustomStringConvertible {
        let name: String
        let json: String
        /// The place of its letter in ``ServerExpectation/macos26``.
        let index: Int
        var os = "macos26"
        var sdk: Int?

        func letter(_ expectation: ServerExpectation) -> String {
            let own = sdk == nil ? expectation.macos26 : expectation.macos26LinkedOn18
            let row = os == "macos26" ? own : expectation.published
            return String(Array(ServerExpectation.letters(row))[index])
        }

        var description: String { name }
    }

    struct Difference: Decodable {
        let who: String
        let dictionaries: [String]
        let kinds: [String]
        let reason: String
    }

    private static func exceptions(_ members: String) -> String {
        let hosts = [LoopbackServers.host, "127.0.0.1"]
        return "{\"NSExceptionDomains\":{\(hosts.map { "\"\($0)\":{\(members)}" }.joined(separator: ","))}}"
    }

    static let dictionaries: [Dictionary] = [
        Dictionary(name: "default", json: "{}", index: 0),
        Dictionary(name: "allow-all", json: "{\"NSAllowsArbitraryLoads\":true}", index: 1),
        Dictionary(name: "tlsv1.3", json: exceptions("\"NSExceptionMinimumTLSVersion\":\"TLSv1.3\""), index: 2),
        Dictionary(
            name: "tlsv1.0", json: exceptions("\"NSExceptionMinimumTLSVersion\":\"TLSv1.0\""), index: 5, sdk: 18),
        Dictionary(name: "nopfs", json: exceptions("\"NSExceptionRequiresForwardSecrecy\":false"), index: 6),
        // The documents' list of suites: it has the four that swift-nio-ssl cannot offer.
        Dictionary(
            name: "published-nopfs", json: exceptions("\"NSExceptionRequiresForwardSecrecy\":false"), index: 6,
            os: "published"),
    ]

    private static func known(_ who: String, _ dictionary: String) throws -> [String] {
        let file = URL(fileURLWithPath: LoopbackServers.repository + "/Tests/Vectors/agreement/differences.json")
        let all = try JSONDecoder().decode([Difference].self, from: Data(contentsOf: file))
        return all.filter { $0.who == who && ($0.dictionaries.contains(dictionary) || $0.dictionaries == ["all"]) }
            .flatMap(\.kinds).sorted()
    }

    /// The kinds for which `verdict` differs from what is expected.
    private static func differing(
        _ dictionary: Dictionary, _ servers: LoopbackServers,
        _ verdict: @escaping @Sendable (LoopbackServers.Server) async -> String
    ) async -> [String] {
        await withTaskGroup(of: String?.self) { group in
            var found: [String] = []
            var running = 0
            for expectation in ServerExpectations.all {
                guard let server = servers.servers[expectation.kind] else { continue }
                if running >= 12 {
                    if let kind = await group.next() ?? nil { found.append(kind) }
                    running -= 1
                }
                running += 1
                group.addTask {
                    // A machine that is busy makes servers late: what differs is asked once more.
                    let wanted = dictionary.letter(expectation)
                    if await verdict(server) == wanted { return nil }
                    return await verdict(server) == wanted ? nil : expectation.kind
                }
            }
            for await kind in group { if let kind { found.append(kind) } }
            return found.sorted()
        }
    }

    /// Runs the body for every dictionary, side by side, because servers that never answer are waited for.
    private static func forEveryDictionary(_ body: @escaping @Sendable (Dictionary) async throws -> Void) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for dictionary in dictionaries { group.addTask { try await body(dictionary) } }
            try await group.waitForAll()
        }
    }

    @Test("The client decides as `ats check` for every server and dictionary, but for the listed differences")
    func client() async throws {
        try await Self.forEveryDictionary { try await Self.client($0) }
    }

    @Test("The proxy decides as `ats check` for every server and dictionary, but for the listed differences")
    func proxy() async throws {
        try await Self.forEveryDictionary { try await Self.proxy($0) }
    }

    private static func client(_ dictionary: Dictionary) async throws {
        var configuration = ATSClient.Configuration()
        configuration.addressOverrides = try Fixture.servers.resolveEntries.map { try AddressOverride($0) }
        configuration.connectTimeout = .seconds(3)
        configuration.totalTimeout = .seconds(15)
        configuration.toleratesUncleanClose = true
        let client = ATSClient(
            policy: try Fixture.policy(dictionary.json, os: dictionary.os, sdk: dictionary.sdk),
            trust: try Fixture.trust(), fetcher: HTTPIntermediateFetcher(group: configuration.eventLoopGroup),
            configuration: configuration)
        let found = await Self.differing(dictionary, try Fixture.servers) { server in
            switch await client.load(server.url).result {
            case .loaded: "P"
            case .refused: "F"
            case .noAnswer: "U"
            }
        }
        await client.shutDown(grace: .zero)
        let known = try Self.known("client", dictionary.name)
        #expect(found == known, "\(dictionary)")
    }

    private static func proxy(_ dictionary: Dictionary) async throws {
        try await RunningProxy.with(dictionary.json, os: dictionary.os, sdk: dictionary.sdk) { running in
            let found = await Self.differing(dictionary, try Fixture.servers) { server in
                let request = "CONNECT \(server.host):\(server.port) HTTP/1.1\r\nConnection: close\r\n\r\n"
                switch await running.status(request) {
                case "200": return "P"
                case "403": return "F"
                case "502": return "U"
                case let other: return other
                }
            }
            let known = try Self.known("proxy", dictionary.name)
            #expect(found == known, "\(dictionary)")
        }
    }
}

extension RawConnection {
    /// The status of an HTTP answer; the connection is closed as soon as it is known.
    static func status(port: Int, send text: String) async -> String {
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let promise = loop.makePromise(of: String.self)
        let connected = try? await ClientBootstrap(group: loop)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(StatusReader(promise))
                }
            }
            .connect(host: "127.0.0.1", port: port).get()
        guard let channel = connected else {
            promise.succeed("no connection")
            return "no connection"
        }
        channel.writeAndFlush(ByteBuffer(string: text), promise: nil)
        let timer = loop.scheduleTask(in: .seconds(15)) { channel.close(promise: nil) }
        defer { timer.cancel() }
        return (try? await promise.futureResult.get()) ?? "error"
    }

    private final class StatusReader: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer

        private var text = ""
        private var promise: EventLoopPromise<String>?

        init(_ promise: EventLoopPromise<String>) { self.promise = promise }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            text += String(buffer: unwrapInboundIn(data))
            guard text.count >= 12 else { return }
            promise?.succeed(String(text.dropFirst(9).prefix(3)))
            promise = nil
            context.close(promise: nil)
        }

        func channelInactive(context: ChannelHandlerContext) {
            promise?.succeed("closed")
            promise = nil
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
    }
}
