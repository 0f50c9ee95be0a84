// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import NIOConcurrencyHelpers
import NIOCore
import NIOEmbedded
import NIOPosix
import TestSupport
import Testing

@testable import ConnectionAdmission

struct AcceptGateTests {
    /// Counts the reads that reach the channel.
    private final class ReadCounter: ChannelOutboundHandler {
        typealias OutboundIn = Never
        var reads = 0
        func read(context: ChannelHandlerContext) {
            reads += 1
            context.read()
        }
    }

    @Test(
        "Without descriptors nothing is accepted for 100 ms, then it goes on",
        arguments: [EMFILE, ENFILE, ENOBUFS, ENOMEM])
    func exhausted(errno: CInt) throws {
        let admission = Admission(limits: Admission.Limits(total: 1, perAddress: 1)) { _ in }
        let channel = EmbeddedChannel()
        let counter = ReadCounter()
        try admission.addGate(to: channel)
        try channel.pipeline.syncOperations.addHandler(counter, position: .first)
        channel.read()
        let (before, start) = (counter.reads, NIODeadline.now())
        for _ in 0..<1000 {
            channel.pipeline.fireErrorCaught(IOError(errnoCode: errno, reason: "accept"))
            channel.read()
        }
        #expect(counter.reads == before)
        #expect(admission.refused.exhausted == 1000)
        channel.embeddedEventLoop.advanceTime(to: start + .milliseconds(99))
        #expect(counter.reads == before)
        channel.embeddedEventLoop.advanceTime(to: .now() + .milliseconds(100))
        #expect(counter.reads == before + 1)
        channel.read()
        #expect(counter.reads == before + 2)
        try channel.throwIfErrorCaught()
    }

    @Test("Other errors pass")
    func otherErrors() throws {
        let admission = Admission(limits: Admission.Limits(total: 1, perAddress: 1)) { _ in }
        let channel = EmbeddedChannel()
        try admission.addGate(to: channel)
        channel.pipeline.fireErrorCaught(IOError(errnoCode: EINVAL, reason: "accept"))
        #expect(throws: IOError.self) { try channel.throwIfErrorCaught() }
    }

    @Test("With one address at its cap its next connection is closed at once, and another address is served")
    func realSockets() async throws {
        let admission = Admission(limits: Admission.Limits(total: 20, perAddress: 4)) { _ in }
        let group = MultiThreadedEventLoopGroup.singleton
        let server = try await ServerBootstrap(group: group)
            .serverChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture { try admission.addGate(to: channel) }
            }
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(Greeter())
                }
            }
            .bind(host: "0.0.0.0", port: 0).get()
        let port = try #require(server.localAddress?.port)

        var hostile: [LoopbackClient] = []
        for _ in 0..<4 {
            let client = try LoopbackClient(from: 2, port: port, limit: 10)
            #expect(client.read() == "hello")
            hostile.append(client)
        }
        for _ in 0..<50 { #expect(try LoopbackClient(from: 2, port: port, limit: 10).read() == "") }
        let honest = try LoopbackClient(from: 1, port: port, limit: 10)
        #expect(honest.read() == "hello")
        #expect(admission.refused.addressFull == 50)
        #expect(admission.open == 5)

        hostile.removeAll()
        let deadline = NIODeadline.now() + .seconds(5)
        while admission.open > 1, .now() < deadline { await Task.yield() }
        #expect(admission.open == 1)
        #expect(try LoopbackClient(from: 2, port: port, limit: 10).read() == "hello")
        try await server.close()
    }

    private final class Greeter: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        func channelActive(context: ChannelHandlerContext) {
            context.channel.writeAndFlush(ByteBuffer(string: "hello"), promise: nil)
        }
    }
}
