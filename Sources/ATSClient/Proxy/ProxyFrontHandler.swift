// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import HTTPTypes
import NIOCore
import NIOHTTP1
import TLSModel
import TLSProbe
import Vocabulary

/// The side of a proxied connection that faces the client: reads requests, has them decided, and answers or becomes a tunnel.
///
/// In every state something ends the wait: what the client owes (`timer`), and what it does not take (`answerTimer`).
final class ProxyFrontHandler: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundIn = Never
    typealias OutboundOut = HTTPServerResponsePart

    private enum State {
        /// Between requests, or in the header fields of one. Limit: `keepAlive`, from the first byte and for the first request `requestTimeout`.
        case idle(isInHead: Bool)
        /// The request is refused already; its end is waited for. Limit: `requestTimeout`.
        case discarding(Refusal)
        /// A CONNECT whose end has not come. Limit: `requestTimeout`.
        case connecting(HTTPRequestHead)
        /// A request that is being forwarded; the buffer takes its body until its end. Limits: `requestTimeout` between two pieces of the
        /// body while the server takes them, `exchangeTimeout` and `idleTimeout` by the client that forwards, `answerTimeout`.
        case forwarding(BodyBuffer?, hasAnswerBegun: Bool)
        /// A CONNECT is being decided. Limit: `decisionTimeout`.
        case deciding
        /// An answer is on its way. Limit: `answerTimeout`.
        case answering
        /// Answered before the request was over: what still comes is forgotten, so that the client can read the answer. Limit: `lingerLimit`.
        case lingering
        /// Limits: `idleTimeout`, and `decisionTimeout` for the handshake; see ``TunnelPair``.
        case tunnel
    }

    private let proxy: ATSProxy
    private let decoder: ByteToMessageHandler<HTTPRequestDecoder>
    private let encoder: HTTPResponseEncoder
    private var state = State.idle(isInHead: true)
    private var context: ChannelHandlerContext?
    private var waiting: CircularBuffer<HTTPServerRequestPart> = []
    /// What came after the requests that wait is not HTTP, or the body of the request that is being forwarded is malformed.
    private var isBroken = false
    /// The answer has no body, because the request is a HEAD.
    private var isHead = false
    /// The connection can carry another request after this one.
    private var keepsAlive = true
    private var holdsRead = false
    private var missedRead = false
    private var work: Task<Void, Never>?
    private var timer: Scheduled<Void>?
    private var answerTimer: Scheduled<Void>?

    init(_ proxy: ATSProxy, decoder: ByteToMessageHandler<HTTPRequestDecoder>, encoder: HTTPResponseEncoder) {
        self.proxy = proxy
        self.decoder = decoder
        self.encoder = encoder
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        startTimer(proxy.configuration.requestTimeout)
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        timer?.cancel()
        answerTimer?.cancel()
        self.context = nil
    }

    func channelInactive(context: ChannelHandlerContext) {
        work?.cancel()
        if case .forwarding(let body, _) = state {
            body?.finish(.failure(ExchangeFailure(reason: .closedBeforeAnswer)))
        }
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard error is HTTPParserError || error is NIOHTTPDecoderError else { return context.close(promise: nil) }
        switch state {
        // The rest of a request that was refused is forgotten, whatever it is.
        case .lingering: break
        // What comes before it has its answer: what follows the last request of a connection is forgotten (RFC 9112 section 9.6), and
        // any other nonsense is refused in its turn.
        case .answering, .deciding, .forwarding(nil, _): isBroken = true
        case .idle, .connecting: refuseNonsense()
        case .discarding(let refusal):
            keepsAlive = false
            answer(refusal)
        case .forwarding(let body?, hasAnswerBegun: false):
            // The request that went out cannot be completed; its end brings the answer.
            isBroken = true
            body.finish(.failure(ExchangeFailure(reason: .closedBeforeAnswer)))
        default: context.close(promise: nil)
        }
    }

    private func refuseNonsense() {
        keepsAlive = false
        isHead = false
        answer(Refusal(status: .badRequest, text: "The request is not HTTP, or its header fields are too large."))
    }

    // MARK: Time

    private func startTimer(_ limit: Duration, _ late: ((ProxyFrontHandler) -> Void)? = nil) {
        timer?.cancel()
        timer = context?.eventLoop.assumeIsolated().scheduleTask(in: TimeAmount(limit)) { [weak self] in
            guard let self else { return }
            if let late { late(self) } else { self.context?.close(promise: nil) }
        }
    }

    /// From here to ``answerTaken()`` the client must take something.
    private func startAnswerTimer() {
        answerTimer?.cancel()
        let limit = TimeAmount(proxy.configuration.answerTimeout)
        answerTimer = context?.eventLoop.assumeIsolated().scheduleTask(in: limit) { [weak self] in
            self?.context?.close(promise: nil)
        }
    }

    private func answerTaken() {
        answerTimer?.cancel()
        answerTimer = nil
    }

    /// Called by ``FirstByteHandler`` before the bytes are decoded.
    func bytesArrived() {
        guard case .idle(isInHead: false) = state else { return }
        state = .idle(isInHead: true)
        startTimer(proxy.configuration.requestTimeout)
    }

    // MARK: Requests

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let part = unwrapInboundIn(data)
        // A pipelined request waits for the answer to the one before it.
        if isPastRequest {
            waiting.append(part)
            holdsRead = true
            if waiting.count > 64 { context.close(promise: nil) }
            return
        }
        handle(part)
    }

    private var isPastRequest: Bool {
        switch state {
        case .answering, .deciding, .forwarding(nil, _): true
        default: false
        }
    }

    private func handle(_ part: HTTPServerRequestPart) {
        switch (part, state) {
        case (.head(let head), .idle): begin(head)
        case (.body(let bytes), .forwarding(let body, _)):
            if body?.push(bytes) == false {
                holdsRead = true
                // It is the server's turn.
                timer?.cancel()
            } else {
                startTimer(proxy.configuration.requestTimeout)
            }
        case (.end, .forwarding(let body, let hasAnswerBegun)):
            timer?.cancel()
            body?.finish(.success(()))
            state = .forwarding(nil, hasAnswerBegun: hasAnswerBegun)
            if !keepsAlive { holdsRead = true }
        case (.end, .connecting(let head)): openTunnel(head)
        case (.end, .discarding(let refusal)): answer(refusal)
        case (.end, .lingering): context?.close(promise: nil)
        default: break
        }
    }

    private func begin(_ received: HTTPRequestHead) {
        var head = received
        isHead = head.method == .HEAD
        // After a CONNECT, and after a request that asks to change the protocol, the decoder reads no more requests.
        let leavesHTTP = head.method == .CONNECT || head.headers.contains(name: "upgrade")
        keepsAlive = head.isKeepAlive && head.version == .http1_1 && !leavesHTTP
        let body = ProxyForward.Body(head)
        switch isAuthorized(head) {
        case .right: break
        case .missing:
            return refuse(body, .proxyAuthenticationRequired, "The proxy requires a user name and a password.")
        case .wrong:
            keepsAlive = false
            return refuse(body, .proxyAuthenticationRequired, "The user name or the password is wrong.")
        case .tooMany:
            keepsAlive = false
            return refuse(body, .tooManyRequests, "Too many wrong passwords came from this address; wait ten seconds.")
        }
        // RFC 9112 section 3.2. A CONNECT names its host itself and reaches nobody as text, so simple clients may leave the field out.
        let hosts = head.headers["host"].count
        guard hosts == 1 || (hosts == 0 && (head.version == .http1_0 || head.method == .CONNECT)) else {
            keepsAlive = false
            return refuse(body, .badRequest, "An HTTP/1.1 request needs exactly one Host field.")
        }
        switch body {
        case .unclear: return refuse(body, .badRequest, "The length of the request is invalid.")
        case .length, .chunked:
            if head.method == .TRACE || head.method == .CONNECT {
                return refuse(body, .badRequest, "A \(head.method.rawValue) request has no body.")
            }
        case .none: break
        }
        if let refusal = head.takeForward() { return refuse(body, refusal) }
        if head.method == .CONNECT {
            state = .connecting(head)
            return startTimer(proxy.configuration.requestTimeout)
        }
        guard let method = HTTPRequest.Method(rawValue: head.method.rawValue) else {
            return refuse(body, .badRequest, "The method is not a token.")
        }
        guard head.uri.hasPrefixIgnoringCase("http://") else {
            let text =
                head.uri.hasPrefixIgnoringCase("https://")
                ? "The proxy never decrypts: use CONNECT for https."
                : "This is a forward proxy: send an absolute URL or CONNECT."
            return refuse(body, .badRequest, text)
        }
        do {
            forward(head, method, body, try LoadURL(head.uri))
        } catch {
            refuse(body, .badRequest, "The URL cannot be used: \(error.reason.terminalSafe(limit: 200)).")
        }
    }

    /// Refuses at once where a body follows, which its sender may hold back until it knows; otherwise at the end of the request.
    private func refuse(_ body: ProxyForward.Body, _ status: HTTPResponseStatus, _ text: String) {
        refuse(body, Refusal(status: status, text: text))
    }

    private func refuse(_ body: ProxyForward.Body, _ refusal: Refusal) {
        if body != .none { return answer(refusal, lingers: true) }
        state = .discarding(refusal)
        startTimer(proxy.configuration.requestTimeout)
    }

    private func isAuthorized(_ head: HTTPRequestHead) -> ProxyPasswords.Verdict {
        guard let passwords = proxy.passwords else { return .right }
        let address = context?.channel.remoteAddress.flatMap { IPAddress($0) }
        return passwords.judge(head.headers.first(name: "proxy-authorization"), from: address, at: .now)
    }

    // MARK: Answers of the proxy itself

    private static let noRoom = Refusal(status: .serviceUnavailable, text: "The proxy has too many connections.")

    private func answer(_ refusal: Refusal, lingers: Bool = false) {
        guard let context, context.channel.isActive else { return }
        if lingers { keepsAlive = false }
        var head = HTTPResponseHead(version: .http1_1, status: refusal.status)
        let body = ByteBuffer(string: refusal.text + "\n")
        head.headers.add(name: "content-type", value: "text/plain; charset=utf-8")
        head.headers.add(name: "content-length", value: String(body.readableBytes))
        let error = refusal.proxyStatus.isEmpty ? "" : "; error=\(refusal.proxyStatus)"
        let details = refusal.code.isEmpty ? "" : "; details=\"\(refusal.code)\""
        head.headers.add(name: "proxy-status", value: "sealward\(error)\(details)")
        if refusal.status == .proxyAuthenticationRequired {
            head.headers.add(name: "proxy-authenticate", value: "Basic realm=\"sealward\"")
        }
        if !keepsAlive { head.headers.add(name: "connection", value: "close") }
        context.write(wrapOutboundOut(.head(head)), promise: nil)
        if !isHead { context.write(wrapOutboundOut(.body(.byteBuffer(body))), promise: nil) }
        finish(lingers: lingers)
    }

    /// Ends an answer; when the client has taken it the connection waits for the next request, or closes.
    ///
    /// - Parameter lingers: the request is not over. Closing at once would reset the connection and take the answer away from its client
    ///   (RFC 9112 section 9.6), so the rest is read and forgotten for a while.
    private func finish(lingers: Bool) {
        guard let context else { return }
        timer?.cancel()
        let done = context.eventLoop.makePromise(of: Void.self)
        let bound = NIOLoopBound(self, eventLoop: context.eventLoop)
        state = lingers ? .lingering : .answering
        startAnswerTimer()
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: done)
        done.futureResult.whenComplete { result in
            bound.value.answerTaken()
            bound.value.answered(lingers: lingers, isTaken: (try? result.get()) != nil)
        }
        guard lingers else { return }
        startTimer(ProxyFrontHandler.lingerLimit)
        readOn()
    }

    private func answered(lingers: Bool, isTaken: Bool) {
        if lingers, isTaken {
            context?.close(mode: .output, promise: nil)
            return
        }
        guard keepsAlive, isTaken else {
            context?.close(promise: nil)
            return
        }
        state = .idle(isInHead: false)
        startTimer(proxy.configuration.keepAlive)
        while !isPastRequest, let part = waiting.popFirst() { handle(part) }
        if isBroken, case .idle = state { return refuseNonsense() }
        readOn()
    }

    private static let lingerLimit: Duration = .seconds(2)

    // MARK: Plain HTTP

    private func forward(
        _ head: HTTPRequestHead, _ method: HTTPRequest.Method, _ incoming: ProxyForward.Body, _ url: LoadURL
    ) {
        guard let context else { return }
        guard let leavePlace = proxy.takePlace(for: context.channel) else {
            keepsAlive = false
            return answer(ProxyFrontHandler.noRoom, lingers: incoming != .none)
        }
        startTimer(proxy.configuration.requestTimeout)
        let loop = context.eventLoop
        let handler = NIOLoopBound(self, eventLoop: loop)
        let body = BodyBuffer(
            readOn: { loop.execute { handler.value.readOn() } },
            // The server answered without reading all of it: what still comes is forgotten.
            giveUp: { loop.execute { handler.value.readOn() } }
        )
        state = .forwarding(body, hasAnswerBegun: false)
        let expectsContinue = head.headers.tokens("expect").contains("100-continue")
        let forward = ProxyForward(proxy: proxy, head: head, method: method, url: url, keepsAlive: keepsAlive)
        work = Task {
            let end = await forward.run(
                body: incoming == .none ? nil : (body, incoming),
                goOn: {
                    if expectsContinue { try await loop.flatSubmit { handler.value.writeContinue() }.get() }
                },
                write: { part in try await loop.flatSubmit { handler.value.write(part) }.get() }
            )
            leavePlace()
            loop.execute { handler.value.forwarded(end) }
        }
    }

    private func write(_ part: HTTPServerResponsePart) -> EventLoopFuture<Void> {
        guard let context else {
            return proxy.configuration.eventLoopGroup.next().makeFailedFuture(ChannelError.ioOnClosedChannel)
        }
        if case .forwarding(let body, _) = state { state = .forwarding(body, hasAnswerBegun: true) }
        startAnswerTimer()
        let bound = NIOLoopBound(self, eventLoop: context.eventLoop)
        let taken = context.writeAndFlush(wrapOutboundOut(part))
        taken.whenComplete { _ in bound.value.answerTaken() }
        return taken
    }

    /// 100 Continue, unless the answer itself came first.
    private func writeContinue() -> EventLoopFuture<Void> {
        guard let context, case .forwarding(_, hasAnswerBegun: false) = state else {
            return proxy.configuration.eventLoopGroup.next().makeSucceededVoidFuture()
        }
        return context.writeAndFlush(wrapOutboundOut(.head(HTTPResponseHead(version: .http1_1, status: .continue))))
    }

    private func forwarded(_ end: ProxyForward.End) {
        work = nil
        let sentBody = if case .forwarding(nil, _) = state { true } else { false }
        if isBroken, case .forwarding(_?, hasAnswerBegun: false) = state { return refuseNonsense() }
        switch end {
        case .complete(let closes):
            if closes || !sentBody { keepsAlive = false }
            finish(lingers: !sentBody)
        case .refused(let refusal): answer(refusal, lingers: !sentBody)
        case .broken: context?.close(promise: nil)
        }
    }

    // MARK: Tunnels

    private func openTunnel(_ head: HTTPRequestHead) {
        guard let context else { return }
        // What the client sends ahead stays with the system until there is a tunnel.
        holdsRead = true
        guard let leavePlace = proxy.takePlace(for: context.channel) else {
            return answer(ProxyFrontHandler.noRoom)
        }
        state = .deciding
        let loop = context.eventLoop
        let handler = NIOLoopBound(self, eventLoop: loop)
        let proxy = proxy
        startTimer(proxy.configuration.decisionTimeout) { $0.decisionIsLate() }
        work = Task {
            let opened = await ProxyTunnel.open(head.uri, proxy: proxy, loop: loop)
            if case .open(let back, _) = opened {
                back.closeFuture.whenComplete { _ in leavePlace() }
            } else {
                leavePlace()
            }
            loop.execute { handler.value.tunnelOpened(opened) }
        }
    }

    private func decisionIsLate() {
        work?.cancel()
        work = nil
        answer(Refusal(status: .gatewayTimeout, text: "The server could not be judged in time."))
    }

    private func tunnelOpened(_ opened: ProxyTunnel.Opened) {
        guard let context, context.channel.isActive, case .deciding = state else {
            if case .open(let back, _) = opened { back.close(promise: nil) }
            return
        }
        work = nil
        timer?.cancel()
        switch opened {
        case .refused(let refusal): answer(refusal)
        case .open(let back, let watch): becomeTunnel(context, back, watch)
        }
    }

    private func becomeTunnel(_ context: ChannelHandlerContext, _ back: any Channel, _ watch: TunnelWatch?) {
        state = .tunnel
        let front = context.channel
        let pipeline = context.pipeline.syncOperations
        do {
            let pair = TunnelPair(
                front: front, back: back, watch: watch, idleTimeout: TimeAmount(proxy.configuration.idleTimeout),
                handshakeTimeout: TimeAmount(proxy.configuration.decisionTimeout))
            // From here on the client's bytes go to the tunnel, those that came with the request first.
            try pipeline.addHandler(pair.frontHandler())
            try back.pipeline.syncOperations.addHandler(pair.backHandler())
            let firstByte = try pipeline.context(handlerType: FirstByteHandler.self)
            pipeline.removeHandler(context: context, promise: nil)
            pipeline.removeHandler(context: firstByte, promise: nil)
            pipeline.removeHandler(encoder, promise: nil)
            // Written as bytes: the encoder would announce a body, which an answer to CONNECT never has (RFC 9110 9.3.6).
            front.writeAndFlush(ByteBuffer(string: "HTTP/1.1 200 Connection established\r\n\r\n"), promise: nil)
            pipeline.removeHandler(decoder, promise: nil)
            if missedRead { front.read() }
            back.setOption(.autoRead, value: true).whenComplete { _ in back.read() }
        } catch {
            back.close(promise: nil)
            front.close(promise: nil)
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
        if case .forwarding(_?, _) = state { startTimer(proxy.configuration.requestTimeout) }
        holdsRead = false
        if missedRead {
            missedRead = false
            context?.read()
        }
    }
}

/// Sits before the HTTP decoder and reports bytes to the handler behind it: the time for a request's header fields begins with the first one.
final class FirstByteHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private let front: ProxyFrontHandler

    init(_ front: ProxyFrontHandler) { self.front = front }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        front.bytesArrived()
        context.fireChannelRead(data)
    }
}
