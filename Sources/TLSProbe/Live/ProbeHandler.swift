// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import NIOCore
import TLSModel

/// Drives one ``ClientHandshake`` over a channel and keeps its promise exactly once.
final class ProbeHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private var handshake: ClientHandshake
    private let promise: EventLoopPromise<ProbeEnd>
    private let connectTimeout: TimeAmount
    private let timeout: TimeAmount
    private var timer: Scheduled<Void>?
    private var isDone = false
    private var wasActive = false
    private var isConnected = false
    /// Whether the timer runs for the rest of the probe, not for the connection.
    private var isExtended = false

    /// - Parameters:
    ///   - connectTimeout: until the hello is written; at most `timeout`.
    ///   - timeout: for the whole probe.
    init(
        _ handshake: ClientHandshake, promise: EventLoopPromise<ProbeEnd>, connectTimeout: TimeAmount,
        timeout: TimeAmount
    ) {
        self.handshake = handshake
        self.promise = promise
        self.connectTimeout = connectTimeout
        self.timeout = timeout
    }

    func handlerAdded(context: ChannelHandlerContext) { startTimer(connectTimeout, context) }

    private func startTimer(_ amount: TimeAmount, _ context: ChannelHandlerContext) {
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        timer = context.eventLoop.scheduleTask(in: amount) {
            let (handler, context) = bound.value
            handler.timerFired(context)
        }
    }

    private func timerFired(_ context: ChannelHandlerContext) {
        if isConnected, !isExtended, connectTimeout < timeout {
            isExtended = true
            return startTimer(timeout - connectTimeout, context)
        }
        handshake.end(.timeout)
        conclude(context)
    }

    /// The connection may not stand yet (`connectEarly`): the hello is written when it does.
    func channelActive(context: ChannelHandlerContext) {
        wasActive = true
        let written = context.eventLoop.makePromise(of: Void.self)
        written.futureResult.assumeIsolated().whenComplete { result in
            switch result {
            case .success: self.isConnected = true
            case .failure(let error):
                self.handshake.end(ConnectionFailure(reading: error) ?? .closed)
                self.conclude(context)
            }
        }
        let hello = context.channel.allocator.buffer(bytes: handshake.start())
        context.writeAndFlush(wrapOutboundOut(hello), promise: written)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let buffer = unwrapInboundIn(data)
        send(handshake.receive(Array(buffer.readableBytesView)), context)
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
        send(handshake.closingAlerts(), context)
        context.close(promise: nil)
        promise.succeed(ProbeEnd(outcome: outcome, wasConnected: isConnected))
    }
}

/// How one probe of one address ended.
struct ProbeEnd: Sendable {
    let outcome: HandshakeOutcome
    /// Whether the connection came about and the hello was written, whatever came after it.
    let wasConnected: Bool
}
