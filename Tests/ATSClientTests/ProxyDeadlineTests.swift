// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ATSClient
import NIOCore
import NIOPosix
import TLSProbe
import TestSupport
import Testing

/// No client holds a connection of the proxy for longer than its state allows, whatever it sends and whatever it leaves out.
struct ProxyDeadlineTests {
    /// What a hostile client does.
    struct Client: Sendable, CustomStringConvertible {
        let name: String
        var send = ""
        /// Sent every 20 ms from then on.
        var drip = ""
        var reads = true
        /// Changes the one limit that ends it; all others are an hour.
        var limit: @Sendable (inout ATSProxy.Configuration) -> Void

        var description: String { name }
    }

    private static let short = Duration.milliseconds(300)

    private static let clients: [Client] = [
        Client(name: "says nothing") { $0.requestTimeout = short },
        Client(name: "half a head", send: "GET http://x/ HTTP/1.1\r\nHost:") { $0.requestTimeout = short },
        Client(name: "drips a head", send: "GET http://x/ HTTP/1.1\r\n", drip: "A: b\r\n") {
            $0.requestTimeout = short
        },
        Client(name: "drips empty lines", drip: "\r\n") { $0.requestTimeout = short },
        Client(name: "rests after an answer", send: "GET / HTTP/1.1\r\nHost: x\r\n\r\n") { $0.keepAlive = short },
        Client(name: "drips a second head", send: "GET / HTTP/1.1\r\nHost: x\r\n\r\n", drip: "GET ") {
            $0.requestTimeout = short
        },
        Client(name: "leaves a refused body out", send: "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n") {
            _ in
        },
        Client(
            name: "leaves half of a body out",
            send: "POST UP/swallow HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nabc"
        ) {
            $0.requestTimeout = short
        },
        Client(
            name: "leaves a chunk out",
            send: "POST UP/swallow HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab"
        ) {
            $0.requestTimeout = short
        },
        Client(
            name: "drips a body", send: "POST UP/swallow HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n",
            drip: "1\r\na\r\n"
        ) { $0.exchangeTimeout = short },
        Client(
            name: "waits for a silent server", send: "GET UP/silent HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
        ) {
            $0.idleTimeout = short
        },
        Client(name: "waits for a slow server", send: "GET UP/drip HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n") {
            $0.exchangeTimeout = short
        },
        Client(name: "takes no answer", send: "GET UP/endless HTTP/1.1\r\nHost: x\r\n\r\n", reads: false) {
            $0.answerTimeout = short
        },
        Client(
            name: "takes no refusal", send: String(repeating: "GET / HTTP/1.1\r\nHost: x\r\n\r\n", count: 100_000),
            reads: false
        ) { $0.answerTimeout = short },
        Client(name: "connects to a server that says nothing", send: "CONNECT HELD HTTP/1.1\r\n\r\n") {
            $0.decisionTimeout = short
        },
        Client(name: "sends on while it waits", send: "CONNECT HELD HTTP/1.1\r\n\r\n", drip: "abc") {
            $0.decisionTimeout = short
        },
        Client(
            name: "lives too long", send: "POST UP/swallow HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n",
            drip: "1\r\na\r\n"
        ) {
            $0.connectionLifetime = short
        },
        Client(
            name: "asks for another protocol",
            send: "GET UP/answer HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n", drip: "abc"
        ) {
            $0.requestTimeout = short
        },
    ]

    /// Side by side, each at a proxy of its own, because all of them are waited for.
    @Test func everyStateEnds() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for client in Self.clients { group.addTask { try await Self.ends(client) } }
            try await group.waitForAll()
        }
    }

    private static func ends(_ client: Client) async throws {
        let held = try HeldPort(isListening: true)
        try await RawServer.with({ Upstream() }) { server in
            try await RunningProxy.plain({ Self.setUp(&$0, client) }) { running in
                let text = client.send.replacingOccurrences("UP", "http://127.0.0.1:\(server.port)")
                    .replacingOccurrences("HELD", "127.0.0.1:\(held.port)")
                let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                    .channelOption(.autoRead, value: client.reads)
                    .connect(host: "127.0.0.1", port: running.port).get()
                channel.writeAndFlush(ByteBuffer(string: text), promise: nil)
                if !client.drip.isEmpty {
                    channel.eventLoop.scheduleRepeatedTask(initialDelay: .milliseconds(20), delay: .milliseconds(20)) {
                        task in
                        guard channel.isActive else { return task.cancel() }
                        channel.writeAndFlush(ByteBuffer(string: client.drip), promise: nil)
                    }
                }
                try? await eventually("it is there", within: .seconds(2)) { running.proxy.openConnections > 0 }
                #expect(await running.becomesEmpty(within: .seconds(60)), "\(client) is still there")
                channel.close(promise: nil)
            }
        }
    }

    private static func setUp(_ configuration: inout ATSProxy.Configuration, _ client: Client) {
        let long = Duration.seconds(3600)
        configuration.requestTimeout = long
        configuration.keepAlive = long
        configuration.idleTimeout = long
        configuration.decisionTimeout = long
        configuration.answerTimeout = long
        configuration.exchangeTimeout = long
        configuration.connectionLifetime = long
        configuration.connectTimeout = .seconds(2)
        client.limit(&configuration)
    }

    @Test(
        "A tunnel ends by its rest, its handshake and its age", .enabled(if: LoopbackServers.isAvailable),
        arguments: ["", "\u{16}", "drip"])
    func tunnels(first: String) async throws {
        let server = try Fixture.server("modern")
        let override = try AddressOverride(server.resolve)
        try await RunningProxy.plain(trust: try Fixture.trust()) {
            $0.addressOverrides = [override]
            $0.idleTimeout = first.isEmpty ? Self.short : .seconds(3600)
            $0.decisionTimeout = first == "\u{16}" ? .seconds(2) : .seconds(3600)
            $0.connectionLifetime = first == "drip" ? .seconds(2) : .seconds(3600)
        } body: { running in
            let answer = try await running.exchange(
                "CONNECT \(server.host):\(server.port) HTTP/1.1\r\n\r\n",
                after: ("established\r\n\r\n", first == "drip" ? "\u{16}" : first))
            #expect(answer.hasPrefix("HTTP/1.1 200 "), "\(answer)")
            #expect(await running.becomesEmpty(within: .seconds(60)))
        }
    }

    /// Does what the path says.
    private final class Upstream: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        private var text = ""
        private var script: ScriptedServer?

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            guard script == nil else { return }
            text += String(buffer: unwrapInboundIn(data))
            let words = text.split(separator: " ")
            guard words.count > 1, text.contains("\r\n\r\n") else { return }
            let steps: [ScriptedServer.Step]
            switch words[1] {
            case "/drip": steps = [.text("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n"), .drip("x")]
            case "/endless":
                steps = [.text("HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n"), .bytes(50_000_000)]
            case "/answer": steps = [.text("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")]
            default: steps = []
            }
            let script = ScriptedServer(ScriptedServer.Script(steps))
            self.script = script
            script.channelRead(context: context, data: NIOAny(ByteBuffer(string: "\r\n\r\n")))
        }

        func channelWritabilityChanged(context: ChannelHandlerContext) {
            script?.channelWritabilityChanged(context: context)
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
    }
}

extension String {
    fileprivate func replacingOccurrences(_ part: String, _ other: String) -> String {
        split(separator: part, omittingEmptySubsequences: false).joined(separator: other)
    }
}
