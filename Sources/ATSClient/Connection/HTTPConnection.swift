// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOHPACK
import NIOHTTP1
import NIOHTTP2
import NIOSSL
import TLSModel

/// A connection that complied and speaks HTTP.
final class HTTPConnection: Sendable {
    enum Wire: Sendable {
        case http1(NIOLoopBound<ExchangeHandler>)
        case http2(NIOHTTP2Handler.StreamMultiplexer, NIOLoopBound<HTTP2ControlHandler>)
    }

    let channel: any Channel
    let wire: Wire
    let key: PoolKey
    /// What was judged in the handshake; nil for plain HTTP.
    let judgement: HandshakeJudge.Judgement?
    /// Monitor mode: why this connection would have been refused.
    let wouldRefuse: ATSLoadError?
    /// What kind of address the server has; it is remembered because a channel that is closed has none.
    let peerKind: AddressKind
    private let keepAlive: TimeAmount
    /// The most header fields of an answer over HTTP/2; for HTTP/1.1 its decoder has the limit.
    private let fieldLimit: Int

    init(
        _ channel: any Channel, _ wire: Wire, _ attempt: Connector.Attempt, _ judgement: HandshakeJudge.Judgement?,
        _ peerKind: AddressKind, _ configuration: ATSClient.Configuration
    ) {
        self.channel = channel
        self.wire = wire
        key = attempt.key
        self.judgement = judgement
        wouldRefuse = attempt.wouldRefuse
        self.peerKind = peerKind
        keepAlive = TimeAmount(configuration.keepAlive)
        fieldLimit = configuration.headerCountLimit
    }

    var isHTTP2: Bool { if case .http2 = wire { true } else { false } }

    var applicationProtocol: String { isHTTP2 ? "h2" : "http/1.1" }

    /// Sends one request and waits for the head of its answer.
    ///
    /// - Parameter onEnd: called once on the event loop when the exchange is over; whether the connection can take another one.
    func perform(
        _ request: WireRequest, onEnd: @escaping @Sendable (_ canBeReused: Bool) -> Void
    ) async throws -> WireResponse {
        let wire = wire
        let exchange = Exchange(request) { canBeReused in
            switch wire {
            case .http1: onEnd(canBeReused)
            case .http2(_, let control): onEnd(control.value.endStream(canBeReused: canBeReused))
            }
        }
        let loop = channel.eventLoop
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                loop.execute {
                    switch wire {
                    case .http1(let handler): handler.value.begin(exchange, continuation)
                    case .http2(let multiplexer, let control):
                        control.value.beginStream()
                        self.open(multiplexer, exchange, continuation)
                    }
                }
            }
        } onCancel: {
            exchange.cancel(on: loop)
        }
    }

    /// Opens a stream and begins the exchange on it. On the event loop.
    private func open(
        _ multiplexer: NIOHTTP2Handler.StreamMultiplexer, _ exchange: Exchange,
        _ continuation: CheckedContinuation<WireResponse, any Error>
    ) {
        let (keepAlive, fieldLimit) = (keepAlive, fieldLimit)
        let promise = channel.eventLoop.makePromise(of: (any Channel).self)
        multiplexer.createStreamChannel(promise: promise) { stream in
            stream.eventLoop.makeCompletedFuture {
                let handler = ExchangeHandler(isStream: true, keepAlive: keepAlive, loop: stream.eventLoop)
                try stream.pipeline.syncOperations.addHandlers([
                    HeadGuard(fieldLimit: fieldLimit), HTTP2FramePayloadToHTTP1ClientCodec(httpProtocol: .https),
                    handler,
                ])
            }
        }
        promise.futureResult.whenComplete { result in
            do {
                let handler = try result.get().pipeline.syncOperations.handler(type: ExchangeHandler.self)
                handler.begin(exchange, continuation)
            } catch {
                continuation.resume(throwing: ExchangeFailure(reason: .closedBeforeAnswer))
                exchange.onEnd(false)
            }
        }
    }
}

/// Sits behind the HTTP/2 handler: reports when the server wants no more requests, and closes on errors.
final class HTTP2ControlHandler: ChannelInboundHandler {
    typealias InboundIn = HTTP2Frame

    private let keepAlive: TimeAmount
    private var context: ChannelHandlerContext?
    private var hasStream = false
    /// The server takes no new streams.
    private var isGoingAway = false
    /// Runs while the connection rests.
    private var timer: Scheduled<Void>?

    init(keepAlive: TimeAmount) { self.keepAlive = keepAlive }

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    func handlerRemoved(context: ChannelHandlerContext) {
        timer?.cancel()
        self.context = nil
    }

    func beginStream() {
        hasStream = true
        timer?.cancel()
        timer = nil
    }

    /// Whether the connection can take another stream; then it is closed unless one comes in time.
    func endStream(canBeReused: Bool) -> Bool {
        hasStream = false
        guard canBeReused, !isGoingAway, let context else { return false }
        timer = context.eventLoop.assumeIsolated().scheduleTask(in: keepAlive) { [weak self] in
            self?.context?.close(promise: nil)
        }
        return true
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard case .goAway = unwrapInboundIn(data).payload else { return }
        isGoingAway = true
        if !hasStream { context.close(promise: nil) }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if error is NIOHTTP2Errors.StreamError { return }
        isGoingAway = true
        context.close(promise: nil)
    }
}

/// Sits in an HTTP/2 stream in front of the codec: a status that is not three digits from 100 to 999, and more header fields than the limit, end the stream.
///
/// The codec makes a number of whatever `Int` reads, and a negative one or one above 999 would end the process.
final class HeadGuard: ChannelInboundHandler {
    typealias InboundIn = HTTP2Frame.FramePayload
    typealias InboundOut = HTTP2Frame.FramePayload

    /// The server sent an invalid status code (RFC 9110 section 15).
    struct InvalidStatus: Error {}

    /// A head, or the trailers, have more fields than the client takes.
    struct TooManyFields: Error {}

    private let fieldLimit: Int

    /// - Parameter fieldLimit: the most header fields of one head, without `:status`.
    init(fieldLimit: Int) { self.fieldLimit = fieldLimit }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard case .headers(let block) = unwrapInboundIn(data) else { return context.fireChannelRead(data) }
        let status = block.headers.first(name: ":status")
        if let status, UInt16(status).map({ 100...999 ~= $0 }) != true || status.utf8.count != 3 {
            context.fireErrorCaught(InvalidStatus())
            return context.close(promise: nil)
        }
        guard block.headers.count - (status == nil ? 0 : 1) <= fieldLimit else {
            context.fireErrorCaught(TooManyFields())
            return context.close(promise: nil)
        }
        context.fireChannelRead(data)
    }
}
