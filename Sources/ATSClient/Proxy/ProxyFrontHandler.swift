// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import Findings
import HTTPTypes
import NIOCore
import NIOHTTP1

/// The side of a proxied connection that faces the client: reads requests, has them decided, and answers or becomes a tunnel.
final class ProxyFrontHandler: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundIn = Never
    typealias OutboundOut = HTTPServerResponsePart

    private enum State {
        /// Between requests.
        case idle
        /// The request is refused already; its body is read and forgotten.
        case discarding(Refusal, keepAlive: Bool)
        /// A CONNECT whose end has not come.
        case connecting(HTTPRequestHead)
        /// A request that is being forwarded; the buffer takes its body until its end.
        case forwarding(BodyBuffer?)
        /// Decided or answered elsewhere; nothing more is read.
        case busy
        /// Answered before the request was over: what still comes is forgotten, so that the client can read the answer.
        case lingering
        case tunnel
    }

    private let proxy: ATSProxy
    private let isFull: Bool
    private let decoder: ByteToMessageHandler<HTTPRequestDecoder>
    private let encoder: HTTPResponseEncoder
    private var state: State = .idle
    private var context: ChannelHandlerContext?
    private var waiting: CircularBuffer<HTTPServerRequestPart> = []
    private var isAnswered = true
    private var hasAnswerBegun = false
    private var holdsRead = false
    private var missedRead = false
    private var work: Task<Void, Never>?
    private var timer: Scheduled<Void>?

    init(
        _ proxy: ATSProxy,
        isFull: Bool,
        decoder: ByteToMessageHandler<HTTPRequestDecoder>,
        encoder: HTTPResponseEncoder
    ) {
        self.proxy = proxy
        self.isFull = isFull
        self.decoder = decoder
        self.encoder = encoder
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        startTimer(proxy.configuration.requestTimeout)
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        timer?.cancel()
        self.context = nil
    }

    func channelInactive(context: ChannelHandlerContext) {
        work?.cancel()
        if case .forwarding(let body) = state { body?.finish(.failure(ExchangeFailure(reason: .closedBeforeAnswer))) }
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard case .idle = state, error is HTTPParserError || error is NIOHTTPDecoderError else {
            return context.close(promise: nil)
        }
        answer(
            Refusal(status: .badRequest, text: "The request is not HTTP, or its header fields are too large."),
            keepAlive: false
        )
    }

    private func startTimer(_ limit: Duration) {
        timer?.cancel()
        timer = context?.eventLoop.assumeIsolated().scheduleTask(in: TimeAmount(limit)) { [weak self] in
            self?.context?.close(promise: nil)
        }
    }

    // MARK: Requests

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let part = unwrapInboundIn(data)
        // A pipelined request waits for the answer to the one before it.
        if !isAnswered, isPastRequest {
            waiting.append(part)
            holdsRead = true
            if waiting.count > 64 { context.close(promise: nil) }
            return
        }
        handle(part)
    }

    private var isPastRequest: Bool {
        switch state {
        case .busy, .forwarding(nil): true
        default: false
        }
    }

    private func handle(_ part: HTTPServerRequestPart) {
        switch (part, state) {
        case (.head(let head), .idle):
            isAnswered = false
            begin(head)
        case (.body(let bytes), .forwarding(let body)):
            if body?.push(bytes) == false { holdsRead = true }
        case (.end, .forwarding(let body)):
            body?.finish(.success(()))
            state = .forwarding(nil)
        case (.end, .connecting(let head)): openTunnel(head)
        case (.end, .discarding(let refusal, let keepAlive)): answer(refusal, keepAlive: keepAlive)
        case (.end, .lingering): context?.close(promise: nil)
        default: break
        }
    }

    private func begin(_ head: HTTPRequestHead) {
        if isFull {
            return refuse(head, .serviceUnavailable, "The proxy has too many connections.", keepAlive: false)
        }
        guard isAuthorized(head) else {
            return refuse(head, .proxyAuthenticationRequired, "The proxy asks for a user and a password.")
        }
        if head.method == .CONNECT {
            state = .connecting(head)
            return
        }
        guard head.uri.lowercased().hasPrefix("http://") else {
            let text =
                head.uri.lowercased().hasPrefix("https://")
                ? "The proxy never decrypts: use CONNECT for https."
                : "This is a forward proxy: send an absolute URL or CONNECT."
            return refuse(head, .badRequest, text)
        }
        do {
            forward(head, try LoadURL(head.uri))
        } catch {
            refuse(head, .badRequest, "The URL cannot be used: \(error.reason).")
        }
    }

    /// Refuses at once where a body follows, which its sender may hold back until it knows; otherwise at the end of the request.
    private func refuse(_ head: HTTPRequestHead, _ status: HTTPResponseStatus, _ text: String, keepAlive: Bool = true) {
        let refusal = Refusal(status: status, text: text)
        if ProxyFrontHandler.hasBody(head) { return answer(refusal, keepAlive: false, lingers: true) }
        state = .discarding(refusal, keepAlive: keepAlive && head.isKeepAlive)
    }

    private static func hasBody(_ head: HTTPRequestHead) -> Bool {
        let length = head.headers.first(name: "content-length").flatMap { Int($0) }
        return length.map { $0 > 0 } ?? head.headers.contains(name: "transfer-encoding")
    }

    /// Basic credentials (RFC 7617), compared without telling by the time where they differ.
    private func isAuthorized(_ head: HTTPRequestHead) -> Bool {
        guard let allowed = proxy.configuration.credentials else { return true }
        guard let field = head.headers.first(name: "proxy-authorization"), field.lowercased().hasPrefix("basic "),
            let given = BasicCredentials.decode(field.dropFirst(6))
        else { return false }
        return allowed.reduce(false) { BasicCredentials.equal(Array($1.utf8), given) || $0 }
    }

    // MARK: Answers of the proxy itself

    private func answer(_ refusal: Refusal, keepAlive: Bool, lingers: Bool = false) {
        guard let context, context.channel.isActive else { return }
        var head = HTTPResponseHead(version: .http1_1, status: refusal.status)
        let body = ByteBuffer(string: refusal.text + "\n")
        head.headers.add(name: "content-type", value: "text/plain; charset=utf-8")
        head.headers.add(name: "content-length", value: String(body.readableBytes))
        let details = refusal.code.isEmpty ? "" : "; details=\"\(refusal.code)\""
        head.headers.add(name: "proxy-status", value: "sealward; error=\(refusal.proxyStatus)\(details)")
        if refusal.status == .proxyAuthenticationRequired {
            head.headers.add(name: "proxy-authenticate", value: "Basic realm=\"sealward\"")
        }
        if !keepAlive || lingers { head.headers.add(name: "connection", value: "close") }
        context.write(wrapOutboundOut(.head(head)), promise: nil)
        context.write(wrapOutboundOut(.body(.byteBuffer(body))), promise: nil)
        finish(keepAlive: keepAlive, lingers: lingers)
    }

    /// Ends an answer; the connection waits for the next request or closes.
    ///
    /// - Parameter lingers: the request is not over. Closing at once would reset the connection and take the answer away from its client
    ///   (RFC 9112 section 9.6), so the rest is read and forgotten for a while.
    private func finish(keepAlive: Bool, lingers: Bool) {
        guard let context else { return }
        let done = context.eventLoop.makePromise(of: Void.self)
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: done)
        if lingers {
            state = .lingering
            startTimer(ProxyFrontHandler.lingerLimit)
            let bound = NIOLoopBound(context, eventLoop: context.eventLoop)
            done.futureResult.whenComplete { _ in bound.value.close(mode: .output, promise: nil) }
            return readOn()
        }
        guard keepAlive else {
            state = .busy
            let bound = NIOLoopBound(context, eventLoop: context.eventLoop)
            return done.futureResult.whenComplete { _ in bound.value.close(promise: nil) }
        }
        state = .idle
        isAnswered = true
        startTimer(proxy.configuration.idleTimeout)
        while isAnswered, let part = waiting.popFirst() { handle(part) }
        while !isPastRequest, let part = waiting.popFirst() { handle(part) }
        readOn()
    }

    private static let lingerLimit: Duration = .seconds(2)

    // MARK: Plain HTTP

    private func forward(_ head: HTTPRequestHead, _ url: LoadURL) {
        guard let context else { return }
        timer?.cancel()
        let loop = context.eventLoop
        let handler = NIOLoopBound(self, eventLoop: loop)
        let length = head.headers.first(name: "content-length").flatMap { Int($0) }
        let hasBody = ProxyFrontHandler.hasBody(head)
        let body = BodyBuffer(
            readOn: { loop.execute { handler.value.readOn() } },
            // The server answered without reading all of it: what still comes is forgotten.
            giveUp: { loop.execute { handler.value.readOn() } }
        )
        state = .forwarding(body)
        hasAnswerBegun = false
        let expectsContinue = head.headers[canonicalForm: "expect"].contains { $0.lowercased() == "100-continue" }
        let proxy = proxy
        let keepAlive = head.isKeepAlive
        work = Task {
            let forward = ProxyForward(proxy: proxy, head: head, url: url)
            let end = await forward.run(
                body: hasBody ? (body, length) : nil,
                goOn: {
                    if expectsContinue { try await loop.flatSubmit { handler.value.writeContinue() }.get() }
                },
                write: { part in try await loop.flatSubmit { handler.value.write(part) }.get() }
            )
            loop.execute { handler.value.forwarded(end, keepAlive: keepAlive) }
        }
    }

    private func write(_ part: HTTPServerResponsePart) -> EventLoopFuture<Void> {
        guard let context else {
            return proxy.configuration.eventLoopGroup.next().makeFailedFuture(ChannelError.ioOnClosedChannel)
        }
        hasAnswerBegun = true
        return context.writeAndFlush(wrapOutboundOut(part))
    }

    /// 100 Continue, unless the answer itself came first.
    private func writeContinue() -> EventLoopFuture<Void> {
        guard let context, !hasAnswerBegun else {
            return proxy.configuration.eventLoopGroup.next().makeSucceededVoidFuture()
        }
        return context.writeAndFlush(wrapOutboundOut(.head(HTTPResponseHead(version: .http1_1, status: .continue))))
    }

    private func forwarded(_ end: ProxyForward.End, keepAlive: Bool) {
        work = nil
        let sentBody = if case .forwarding(nil) = state { true } else { false }
        switch end {
        case .complete: finish(keepAlive: keepAlive, lingers: !sentBody)
        case .refused(let refusal): answer(refusal, keepAlive: keepAlive, lingers: !sentBody)
        case .broken: context?.close(promise: nil)
        }
    }

    // MARK: Tunnels

    private func openTunnel(_ head: HTTPRequestHead) {
        guard let context else { return }
        timer?.cancel()
        state = .busy
        let loop = context.eventLoop
        let handler = NIOLoopBound(self, eventLoop: loop)
        let proxy = proxy
        work = Task {
            let opened = await ProxyTunnel.open(head.uri, proxy: proxy, loop: loop)
            loop.execute { handler.value.tunnelOpened(opened, keepAlive: head.isKeepAlive) }
        }
    }

    private func tunnelOpened(_ opened: ProxyTunnel.Opened, keepAlive: Bool) {
        work = nil
        guard let context, context.channel.isActive else {
            if case .open(let back, _) = opened { back.close(promise: nil) }
            return
        }
        switch opened {
        case .refused(let refusal): answer(refusal, keepAlive: keepAlive)
        case .open(let back, let watch):
            state = .tunnel
            let front = context.channel
            let pipeline = context.pipeline.syncOperations
            do {
                let idle = TimeAmount(proxy.configuration.idleTimeout)
                let pair = TunnelPair(front: front, back: back, watch: watch, idleTimeout: idle)
                // From here on the client's bytes go to the tunnel, those that came with the request first.
                try pipeline.addHandler(pair.frontHandler())
                try back.pipeline.syncOperations.addHandler(pair.backHandler())
                pipeline.removeHandler(context: context, promise: nil)
                pipeline.removeHandler(encoder, promise: nil)
                // Written as bytes: the encoder would announce a body, which an answer to CONNECT never has (RFC 9110 9.3.6).
                front.writeAndFlush(ByteBuffer(string: "HTTP/1.1 200 Connection established\r\n\r\n"), promise: nil)
                pipeline.removeHandler(decoder, promise: nil)
                back.setOption(.autoRead, value: true).whenComplete { _ in back.read() }
            } catch {
                back.close(promise: nil)
                front.close(promise: nil)
            }
        }
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
        guard waiting.isEmpty else { return }
        holdsRead = false
        if missedRead {
            missedRead = false
            context?.read()
        }
    }
}
