// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import NIOCore
package import TLSModel

/// Drives one ``ClientHandshake`` over a channel and keeps its promise exactly once.
final class ProbeHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private var handshake: ClientHandshake
    private let promise: EventLoopPromise<ProbeEnd>
    private let timeout: TimeAmount
    private var timer: Scheduled<Void>?
    private var isDone = false
    private var isConnected = false

    /// - Parameter timeout: for the whole probe.
    init(_ handshake: ClientHandshake, promise: EventLoopPromise<ProbeEnd>, timeout: TimeAmount) {
        self.handshake = handshake
        self.promise = promise
        self.timeout = timeout
    }

    func handlerAdded(context: ChannelHandlerContext) {
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        timer = context.eventLoop.scheduleTask(in: timeout) {
            let (handler, context) = bound.value
            handler.end(.timeout, context)
        }
    }

    func channelActive(context: ChannelHandlerContext) {
        isConnected = true
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        let hello = context.channel.allocator.buffer(bytes: handshake.start())
        context.writeAndFlush(wrapOutboundOut(hello)).whenFailure { error in
            let (handler, context) = bound.value
            handler.errorCaught(context: context, error: error)
        }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let buffer = unwrapInboundIn(data)
        send(handshake.receive(Array(buffer.readableBytesView)), context)
        if handshake.outcome != nil { conclude(context) }
    }

    func channelInactive(context: ChannelHandlerContext) { end(.closed, context) }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        end(ConnectionFailure(reading: error) ?? .closed, context)
    }

    /// A connection that never came about is the connect attempt's to explain, not ours: refused and closed are two facts.
    func handlerRemoved(context: ChannelHandlerContext) {
        timer?.cancel()
        if isConnected { end(.closed, context) }
    }

    private func end(_ failure: ConnectionFailure, _ context: ChannelHandlerContext) {
        handshake.end(failure)
        conclude(context)
    }

    private func send(_ bytes: [UInt8], _ context: ChannelHandlerContext) {
        guard !bytes.isEmpty else { return }
        context.writeAndFlush(wrapOutboundOut(context.channel.allocator.buffer(bytes: bytes)), promise: nil)
    }

    /// Answers, says goodbye and closes, the first time only.
    private func conclude(_ context: ChannelHandlerContext) {
        guard !isDone, let outcome = handshake.outcome else { return }
        isDone = true
        timer?.cancel()
        send(handshake.closingAlerts(), context)
        context.close(promise: nil)
        promise.succeed(ProbeEnd(outcome: outcome, wasConnected: isConnected))
    }
}

/// How a probe ended.
package struct ProbeEnd: Sendable {
    package let outcome: HandshakeOutcome
    /// The address that the outcome is from; nil if none was tried.
    package internal(set) var address: SocketAddress?
    /// Whether the connection came about and the hello was written, whatever came after it: silence after a hello is another thing than no
    /// connection.
    package let wasConnected: Bool
}
