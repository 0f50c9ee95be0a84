// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import NIOCore
import TLSFacts

/// Drives one ``ClientHandshake`` over a channel and keeps its promise exactly once.
final class ProbeHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private var handshake: ClientHandshake
    private let promise: EventLoopPromise<HandshakeOutcome>
    private let timeout: TimeAmount
    private var timer: Scheduled<Void>?
    private var isDone = false
    private var wasActive = false

    init(_ handshake: ClientHandshake, promise: EventLoopPromise<HandshakeOutcome>, timeout: TimeAmount) {
        self.handshake = handshake
        self.promise = promise
        self.timeout = timeout
    }

    func handlerAdded(context: ChannelHandlerContext) {
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        timer = context.eventLoop.scheduleTask(in: timeout) {
            let (handler, context) = bound.value
            handler.handshake.end(.timeout)
            handler.conclude(context)
        }
    }

    func channelActive(context: ChannelHandlerContext) {
        wasActive = true
        send(handshake.start(), context)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let buffer = unwrapInboundIn(data)
        send(handshake.receive(buffer.readableBytesView), context)
        if handshake.outcome != nil { conclude(context) }
    }

    func channelInactive(context: ChannelHandlerContext) {
        handshake.end(.closed)
        conclude(context)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        handshake.end(ConnectionFailure(reading: error) ?? .closed)
        conclude(context)
    }

    /// A connection that never came about is the connect attempt's to explain, not ours: refused and closed are two facts.
    func handlerRemoved(context: ChannelHandlerContext) {
        guard wasActive else {
            timer?.cancel()
            return
        }
        handshake.end(.closed)
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
        send(handshake.farewell(), context)
        context.close(promise: nil)
        promise.succeed(outcome)
    }
}
