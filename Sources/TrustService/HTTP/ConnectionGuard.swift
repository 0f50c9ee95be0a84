// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Findings
import NIOCore
import NIOHTTP1

/// Sits behind the HTTP decoder of one connection: ends slow requests, and answers unreadable ones with a problem document.
///
/// A request must be complete within ``Limits/request`` of its first byte that made a head, and a connection that has sent no
/// head is closed after ``Limits/idle``. Half-sent requests hold a file descriptor and some kilobytes, nothing else.
final class ConnectionGuard: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    struct Limits: Sendable {
        /// From the head of a request to its end.
        var request: TimeAmount = .seconds(10)
        /// From the connection or the last answer to the next head.
        var idle: TimeAmount = .seconds(75)
        /// From the connection to the first head.
        var first: TimeAmount = .seconds(10)
    }

    private let limits: Limits
    private let correlationId: @Sendable () -> String
    private var timeout: Scheduled<Void>?
    private var answering = 0
    private var failed = false

    init(limits: Limits, correlationId: @escaping @Sendable () -> String) {
        self.limits = limits
        self.correlationId = correlationId
    }

    func handlerAdded(context: ChannelHandlerContext) { schedule(limits.first, context) }

    func handlerRemoved(context: ChannelHandlerContext) { timeout?.cancel() }

    func channelInactive(context: ChannelHandlerContext) {
        timeout?.cancel()
        context.fireChannelInactive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head:
            answering += 1
            schedule(limits.request, context)
        case .body: break
        case .end: timeout?.cancel()
        }
        context.fireChannelRead(data)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        if case .end = unwrapOutboundIn(data) {
            answering -= 1
            if answering == 0 { schedule(limits.idle, context) }
        }
        context.write(data, promise: promise)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard error is HTTPParserError, answering == 0, !failed else {
            if error is HTTPParserError { context.close(promise: nil) } else { context.fireErrorCaught(error) }
            return
        }
        failed = true
        let problem = Problem("request.malformed")
        let body = problem.document(correlationId: correlationId()).rendered(pretty: false)
        let head = HTTPResponseHead(
            version: .http1_1,
            status: .badRequest,
            headers: [
                "content-type": "application/problem+json", "content-length": String(body.utf8.count),
                "connection": "close",
            ]
        )
        context.write(wrapOutboundOut(.head(head)), promise: nil)
        context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(string: body)))), promise: nil)
        let loopBound = NIOLoopBound(context, eventLoop: context.eventLoop)
        context.writeAndFlush(wrapOutboundOut(.end(nil))).whenComplete { _ in loopBound.value.close(promise: nil) }
    }

    private func schedule(_ amount: TimeAmount, _ context: ChannelHandlerContext) {
        timeout?.cancel()
        let loopBound = NIOLoopBound(context, eventLoop: context.eventLoop)
        timeout = context.eventLoop.scheduleTask(in: amount) { loopBound.value.close(promise: nil) }
    }
}

/// Puts a ``ConnectionGuard`` behind the decoder, then leaves the pipeline: the only place that Hummingbird opens to handlers
/// comes after the conversion to its own message types.
final class ConnectionGuardInstaller: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = NIOAny

    private let make: @Sendable () -> ConnectionGuard

    init(make: @escaping @Sendable () -> ConnectionGuard) { self.make = make }

    func handlerAdded(context: ChannelHandlerContext) {
        let pipeline = context.pipeline.syncOperations
        do {
            let decoder = try pipeline.handler(type: ByteToMessageHandler<HTTPRequestDecoder>.self)
            try pipeline.addHandler(make(), position: .after(decoder))
        } catch {
            context.fireErrorCaught(error)
            context.close(promise: nil)
        }
    }
}
