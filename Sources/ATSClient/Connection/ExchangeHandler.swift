// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ConnectionAdmission
import Glibc
import NIOCore
import NIOHTTP1
import NIOHTTP2
import NIOSSL
import Vocabulary

/// Runs exchanges on a channel that speaks in HTTP parts: one after another on an HTTP/1.1 connection, a single one on an HTTP/2 stream.
final class ExchangeHandler: ChannelDuplexHandler {
    typealias InboundIn = HTTPClientResponsePart
    typealias OutboundIn = Never
    typealias OutboundOut = HTTPClientRequestPart

    /// Whether the channel is a stream of HTTP/2, which takes one exchange.
    private let isStream: Bool
    private let keepAlive: TimeAmount
    private let loop: any EventLoop

    private var context: ChannelHandlerContext?
    private var exchange: Exchange?
    private var head: HTTPResponseHead?
    /// Body bytes that came before the head was handed over.
    private var early = ByteBuffer()
    private var body: BodyBuffer?
    private var received = 0
    private var isRequestSent = false
    /// Bytes of the request's body so far.
    private var sent = 0
    private var informational = 0
    private var upload: Task<Void, Never>?
    private var holdsRead = false
    private var missedRead = false
    private var lastActivity = NIODeadline.now()
    private var due: MovingDeadline?
    /// Why the channel ended while nothing ran on it.
    private var endReason: ExchangeFailure.Reason?

    init(isStream: Bool, keepAlive: TimeAmount, loop: any EventLoop) {
        self.loop = loop
        self.isStream = isStream
        self.keepAlive = keepAlive
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        due = MovingDeadline(on: context.eventLoop) { [weak self] in self?.isDue() }
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        fail(.closedBeforeAnswer)
        due = nil
        self.context = nil
    }

    // MARK: Sending

    /// Sends the request. The channel must be idle.
    func begin(_ exchange: Exchange, _ continuation: CheckedContinuation<WireResponse, any Error>) {
        guard let context, context.channel.isActive, self.exchange == nil else {
            continuation.resume(throwing: ExchangeFailure(reason: endReason ?? .closedBeforeAnswer))
            return exchange.onEnd(false)
        }
        guard !exchange.isCancelled else {
            continuation.resume(throwing: CancellationError())
            return becomeIdle(after: exchange, canBeReused: true)
        }
        exchange.continuation = continuation
        exchange.handler = self
        self.exchange = exchange
        head = nil
        early = ByteBuffer()
        body = nil
        received = 0
        isRequestSent = false
        sent = 0
        informational = 0
        lastActivity = .now()
        arm()
        context.write(wrapOutboundOut(.head(exchange.request.head)), promise: nil)
        switch exchange.request.body {
        case .empty: finishSending(context)
        case .bytes(let bytes):
            if bytes.readableBytes > 0 { context.write(wrapOutboundOut(.body(.byteBuffer(bytes))), promise: nil) }
            finishSending(context)
        case .stream(_, let produce):
            context.flush()
            startUpload(produce, of: exchange)
        }
    }

    /// The request counts as sent when its last byte has left: before that an answer is early, and the connection is not used again.
    private func finishSending(_ context: ChannelHandlerContext) {
        let exchange = exchange
        let handler = NIOLoopBound(self, eventLoop: loop)
        context.writeAndFlush(wrapOutboundOut(.end(nil))).assumeIsolated().whenSuccess {
            if let exchange, handler.value.exchange === exchange { handler.value.isRequestSent = true }
        }
    }

    private typealias Produce = @Sendable (@Sendable (ByteBuffer) async throws -> Void) async throws -> Void

    private func startUpload(_ produce: @escaping Produce, of exchange: Exchange) {
        let loop = loop
        let handler = NIOLoopBound(self, eventLoop: loop)
        upload = Task {
            do {
                try await produce { part in
                    try await loop.flatSubmit { handler.value.send(part, of: exchange) }.get()
                }
                loop.execute { handler.value.uploadEnded(exchange, nil) }
            } catch {
                let sentence = String(describing: error).terminalSafe(limit: 200)
                loop.execute { handler.value.uploadEnded(exchange, sentence) }
            }
        }
    }

    private func send(_ part: ByteBuffer, of exchange: Exchange) -> EventLoopFuture<Void> {
        guard let context, self.exchange === exchange else {
            return loop.makeFailedFuture(ExchangeFailure(reason: .closedBeforeAnswer))
        }
        lastActivity = .now()
        sent += part.readableBytes
        if let length = exchange.announcedLength, sent > length {
            fail(.requestBody("it is longer than the \(length) bytes that were announced"))
            return loop.makeFailedFuture(ExchangeFailure(reason: .closedBeforeAnswer))
        }
        let promise = context.eventLoop.makePromise(of: Void.self)
        context.writeAndFlush(wrapOutboundOut(.body(.byteBuffer(part))), promise: promise)
        return promise.futureResult
    }

    private func uploadEnded(_ exchange: Exchange, _ error: String?) {
        guard let context, self.exchange === exchange else { return }
        upload = nil
        if let error { return fail(.requestBody(error)) }
        if let length = exchange.announcedLength, sent < length {
            return fail(.requestBody("it ended after \(sent) of the \(length) bytes that were announced"))
        }
        finishSending(context)
    }

    // MARK: Receiving

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head) where (100..<200).contains(head.status.code): takeInformational(head)
        case .head(let head):
            guard exchange != nil else { return context.close(promise: nil) }
            lastActivity = .now()
            if let fault = fault(of: head) { return fail(.malformed(fault)) }
            self.head = head
        case .body(let part):
            lastActivity = .now()
            receive(part)
        case .end(let trailers):
            lastActivity = .now()
            complete(trailers)
        }
    }

    /// Why an answer cannot be read; nil if it can.
    ///
    /// The decoder takes every three digits for a status. And it takes off `chunked` alone: what another coding leaves would pass for the
    /// content (RFC 9112 sections 6.1 and 7; this client accepts no other, because it sends no `TE`).
    private func fault(of head: HTTPResponseHead) -> String? {
        if head.status.code < 100 { return ExchangeHandler.noStatus }
        guard !isStream, head.headers.contains(name: "transfer-encoding") else { return nil }
        let codings = head.headers.tokens("transfer-encoding")
        return codings == ["chunked"] || codings == ["identity"] ? nil : "a transfer coding that was not requested"
    }

    private static let noStatus = "an invalid status code"

    /// Forgets answers such as 100 and 103, up to a number, and does not count them as a sign of life. This client never asks to switch
    /// protocols, so after 101 nobody knows what the bytes are.
    private func takeInformational(_ head: HTTPResponseHead) {
        informational += 1
        if head.status.code == 101 { return fail(.malformed("101 Switching Protocols, which was not requested")) }
        if informational > ExchangeHandler.informationalLimit {
            fail(.malformed("more than \(ExchangeHandler.informationalLimit) informational answers"))
        }
    }

    /// Servers send one or two.
    private static let informationalLimit = 32

    func channelReadComplete(context: ChannelHandlerContext) {
        // A head without its end: hand it over, the body follows as a stream.
        if head != nil, body == nil, exchange?.continuation != nil { handOver() }
        context.fireChannelReadComplete()
    }

    private func receive(_ part: ByteBuffer) {
        guard let exchange else { return }
        received += part.readableBytes
        if let limit = exchange.request.bodyLimit, received > limit { return fail(.bodyTooLarge(limit: limit)) }
        if let body {
            if !body.push(part) { holdsRead = true }
        } else {
            early.add(part)
        }
    }

    private func complete(_ trailers: HTTPHeaders?) {
        guard let exchange else { return }
        let (stream, answer) = (body, head.map { WireResponse(head: $0, body: ResponseBody(.buffered(early))) })
        let endIsCertain =
            isStream
            || head.map(ExchangeHandler.endIsCertain) == true && exchange.request.head.isKeepAlive
                && !ExchangeHandler.frames(trailers)
        let canBeReused =
            isRequestSent && endIsCertain
            && !exchange.request.head.headers.authenticateConnection && head?.headers.authenticateConnection != true
        self.exchange = nil
        head = nil
        body = nil
        // However the connection ends from now on: a request that is sent on it then was not answered.
        endReason = .closedBeforeAnswer
        upload?.cancel()
        upload = nil
        // First the connection rests: the caller's next request finds it.
        becomeIdle(after: exchange, canBeReused: canBeReused)
        if let stream {
            stream.finish(.success(()))
        } else if let answer {
            exchange.continuation?.resume(returning: answer)
            exchange.continuation = nil
        }
    }

    /// Whether both sides agree where the answer ended. A transfer coding from a server that speaks HTTP/1.0 is a fault (RFC 9112 section 6.1).
    private static func endIsCertain(_ head: HTTPResponseHead) -> Bool {
        head.isKeepAlive && !(head.version == .http1_0 && head.headers.contains(name: "transfer-encoding"))
    }

    /// Whether trailers say where the answer ends, which is too late (RFC 9110 section 6.5.1): nobody knows who believes them.
    private static func frames(_ trailers: HTTPHeaders?) -> Bool {
        guard let trailers else { return false }
        return ["transfer-encoding", "content-length", "connection"].contains { trailers.contains(name: $0) }
    }

    /// Gives the head to the waiting task before the body is complete.
    private func handOver() {
        guard let exchange, let head, let continuation = exchange.continuation else { return }
        exchange.continuation = nil
        let loop = loop
        let handler = NIOLoopBound(self, eventLoop: loop)
        let buffer = BodyBuffer(
            readOn: { loop.execute { handler.value.readOn() } },
            giveUp: { loop.execute { handler.value.giveUp(exchange) } })
        body = buffer
        if early.readableBytes > 0, !buffer.push(early) { holdsRead = true }
        early = ByteBuffer()
        continuation.resume(returning: WireResponse(head: head, body: ResponseBody(.streaming(BodyReader(buffer)))))
    }

    // MARK: Backpressure

    func read(context: ChannelHandlerContext) {
        if holdsRead {
            missedRead = true
        } else {
            context.read()
        }
    }

    private func readOn() {
        holdsRead = false
        lastActivity = .now()
        if missedRead {
            missedRead = false
            context?.read()
        }
    }

    // MARK: Ends

    /// Ends this exchange because nobody waits for it anymore. The connection cannot be used again.
    func giveUp(_ exchange: Exchange) {
        guard self.exchange === exchange else { return }
        end(with: CancellationError())
        context?.close(promise: nil)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if case .uncleanShutdown = error as? NIOSSLError {
            if exchange?.request.toleratesUncleanClose == true { return }
        }
        let reason = reason(of: error)
        if exchange == nil, endReason == nil { endReason = reason }
        fail(reason)
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        fail(head == nil ? .closedBeforeAnswer : .incompleteBody)
        context.fireChannelInactive()
    }

    private func fail(_ reason: ExchangeFailure.Reason) {
        guard exchange != nil else { return }
        end(with: ExchangeFailure(reason: reason, answerHadBegun: head != nil))
        context?.close(promise: nil)
    }

    private func end(with error: any Error) {
        guard let exchange else { return }
        self.exchange = nil
        upload?.cancel()
        upload = nil
        body?.finish(.failure(error))
        body = nil
        exchange.continuation?.resume(throwing: error)
        exchange.continuation = nil
        exchange.onEnd(false)
    }

    private func becomeIdle(after exchange: Exchange, canBeReused: Bool) {
        holdsRead = false
        if missedRead {
            missedRead = false
            context?.read()
        }
        lastActivity = .now()
        arm()
        exchange.onEnd(canBeReused)
        if isStream || !canBeReused { context?.close(promise: nil) }
    }

    private func reason(of error: any Error) -> ExchangeFailure.Reason {
        if let alert = BoringSSLReason.alert(in: error) { return .alert(alert) }
        switch error {
        case let error as IOError where error.errnoCode == ECONNRESET: return .reset
        case is IOError, is ChannelError: return head == nil ? .closedBeforeAnswer : .incompleteBody
        case is HeadGuard.InvalidStatus: return .malformed(ExchangeHandler.noStatus)
        case is HeadGuard.TooManyFields, HTTPParserError.headerOverflow: return .headerTooLarge
        case HTTPParserError.invalidEOFState: return head == nil ? .closedBeforeAnswer : .incompleteBody
        case is NIOSSLError: return head == nil ? .closedBeforeAnswer : .incompleteBody
        case is NIOHTTP2Errors.StreamClosed, is NIOHTTP2Errors.IOOnClosedConnection:
            return head == nil ? .closedBeforeAnswer : .incompleteBody
        default:
            let name = BoringSSLReason.text(of: error).map { "a TLS fault: \($0)" } ?? error.nameWithoutPlace
            let lower = name.lowercased().utf8
            return lower.firstRange(of: "header".utf8) != nil && lower.firstRange(of: "large".utf8) != nil
                ? .headerTooLarge : .malformed(name)
        }
    }

    // MARK: Time

    /// One deadline for everything: the earliest moment at which something may be late.
    private func arm() {
        var next = NIODeadline.distantFuture
        if let exchange {
            if let deadline = exchange.request.deadline { next = min(next, deadline) }
            if let idle = exchange.request.idleTimeout { next = min(next, lastActivity + idle) }
        } else if !isStream {
            next = lastActivity + keepAlive
        }
        if next != .distantFuture { due?.move(in: next - .now()) }
    }

    private func isDue() {
        let now = NIODeadline.now()
        if let exchange {
            if let deadline = exchange.request.deadline, now >= deadline { return fail(.timeout) }
            if let idle = exchange.request.idleTimeout, now >= lastActivity + idle, !holdsRead {
                return fail(head == nil ? .timeout : .stalled)
            }
            if holdsRead { lastActivity = now }
        } else if !isStream, now >= lastActivity + keepAlive {
            context?.close(promise: nil)
            return
        }
        arm()
    }
}
