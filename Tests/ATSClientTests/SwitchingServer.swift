// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import NIOConcurrencyHelpers
import NIOCore
import NIOPosix

/// A port on loopback whose connections lead to one server first and to another one from then on.
struct SwitchingServer: Sendable {
    let port: Int
    /// Connections that were accepted.
    let accepted: NIOLockedValueBox<Int>

    /// - Parameter ports: where the first, the second ... connection leads to; the last one is for all that follow.
    static func with(_ ports: [Int], _ body: @Sendable (SwitchingServer) async throws -> Void) async throws {
        let accepted = NIOLockedValueBox(0)
        let server = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.backlog, value: 256)
            .childChannelInitializer { front in
                let turn = accepted.withLockedValue { count in
                    count += 1
                    return count
                }
                let port = ports[min(turn, ports.count) - 1]
                return front.eventLoop.makeCompletedFuture {
                    try front.pipeline.syncOperations.addHandler(FrontBridge(port: port))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        do {
            try await body(SwitchingServer(port: server.localAddress?.port ?? 0, accepted: accepted))
            try await server.close()
        } catch {
            try? await server.close()
            throw error
        }
    }

    /// The client's side: what comes before the server's side is connected waits.
    private final class FrontBridge: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer

        private let port: Int
        private var back: (any Channel)?
        private var early: [ByteBuffer] = []
        private var isOver = false

        init(port: Int) { self.port = port }

        func channelActive(context: ChannelHandlerContext) {
            let front = context.channel
            let bridge = NIOLoopBound(self, eventLoop: front.eventLoop)
            ClientBootstrap(group: front.eventLoop)
                .channelInitializer { back in
                    back.eventLoop.makeCompletedFuture {
                        try back.pipeline.syncOperations.addHandler(BackBridge(to: front))
                    }
                }
                .connect(host: "127.0.0.1", port: port)
                .whenComplete { result in
                    switch result {
                    case .success(let back): bridge.value.connected(back)
                    case .failure: front.close(promise: nil)
                    }
                }
        }

        private func connected(_ back: any Channel) {
            guard !isOver else { return back.close(promise: nil) }
            self.back = back
            for bytes in early { back.writeAndFlush(bytes, promise: nil) }
            early = []
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            let bytes = unwrapInboundIn(data)
            if let back { back.writeAndFlush(bytes, promise: nil) } else { early.append(bytes) }
        }

        func channelInactive(context: ChannelHandlerContext) {
            isOver = true
            back?.close(promise: nil)
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
    }

    /// The server's side.
    private final class BackBridge: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer

        private let front: any Channel

        init(to front: any Channel) { self.front = front }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            front.writeAndFlush(unwrapInboundIn(data), promise: nil)
        }

        func channelInactive(context: ChannelHandlerContext) { front.close(promise: nil) }

        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
    }
}
