// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import ConnectionAdmission
import HTTPTypes
import NIOCore
import NIOHTTP1
import TLSModel
import TLSProbe

/// The side of a proxied connection that faces the client: reports events to a ``ProxyFront`` and takes its actions.
final class ProxyFrontHandler: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundIn = Never
    typealias OutboundOut = HTTPServerResponsePart

    private let proxy: ATSProxy
    private let decoder: ByteToMessageHandler<HTTPRequestDecoder>
    private let encoder: HTTPResponseEncoder
    private var front: ProxyFront
    private var context: ChannelHandlerContext?
    /// The actions that are left. One that causes an event adds that event's actions at the end.
    private var actions: CircularBuffer<ProxyFront.Action> = []
    private var isActing = false
    /// The body of the request that is being forwarded.
    private var body: BodyBuffer?
    private var missedRead = false
    private var work: Task<Void, Never>?
    private var waitsFor = ProxyFront.Limit.request
    private var deadline: MovingDeadline?
    /// Runs while the client must take something.
    private var answerDeadline: MovingDeadline?
    /// Lost to a newcomer if there is no room, while no request is under way or the client takes none of its answer.
    private let place: Admission.Place?
    private var isIdle = true

    /// - Parameter channel: the client's, on whose event loop the handler lives.
    init(
        _ proxy: ATSProxy, _ channel: any Channel, decoder: ByteToMessageHandler<HTTPRequestDecoder>,
        encoder: HTTPResponseEncoder
    ) {
        self.proxy = proxy
        self.decoder = decoder
        self.encoder = encoder
        place = proxy.place(of: channel)
        place?.isWaiting(true)
        front = ProxyFront { [weak channel] head in
            let address = channel?.remoteAddress.flatMap { IPAddress($0) }
            return proxy.passwords?.judge(head.headers.first(name: "proxy-authorization"), from: address, at: .now)
                ?? .right
        }
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        deadline = MovingDeadline(on: context.eventLoop) { [weak self] in self?.isLate() }
        answerDeadline = MovingDeadline(on: context.eventLoop) { [weak self] in self?.context?.close(promise: nil) }
        wait(.request)
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        (deadline, answerDeadline) = (nil, nil)
        self.context = nil
    }

    func channelInactive(context: ChannelHandlerContext) {
        work?.cancel()
        failBody()
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard error is HTTPParserError || error is NIOHTTPDecoderError else { return context.close(promise: nil) }
        act(front.isMalformed())
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) { act(front.received(unwrapInboundIn(data))) }

    /// Called by ``FirstByteHandler`` before the bytes are decoded.
    func bytesArrived() { act(front.bytesArrived()) }

    func read(context: ChannelHandlerContext) {
        if front.holdsRead {
            missedRead = true
        } else {
            context.read()
        }
    }

    // MARK: Actions

    private func act(_ more: [ProxyFront.Action]) {
        // Before the actions, one of which may need a place for a connection to the server.
        if front.isIdle != isIdle {
            isIdle = front.isIdle
            place?.isWaiting(isIdle)
        }
        actions.append(contentsOf: more)
        guard !isActing else { return }
        isActing = true
        while let action = actions.popFirst() { act(action) }
        isActing = false
        if missedRead, !front.holdsRead {
            missedRead = false
            context?.read()
        }
    }

    private func act(_ action: ProxyFront.Action) {
        switch action {
        case .wait(let limit): wait(limit)
        case .stopWaiting: deadline?.stop()
        case .forward(let head, let method, let url, let body): forward(head, method, url, body)
        case .body(let bytes): if body?.push(bytes) == false { act(front.bodyIsHeld()) }
        case .endBody:
            body?.finish(.success(()))
            body = nil
        case .failBody: failBody()
        case .open(let authority): open(authority)
        case .answer(let refusal, let keepsAlive, let hasBody): write(refusal, keepsAlive, hasBody)
        case .endAnswer: endAnswer()
        case .closeOutput: context?.close(mode: .output, promise: nil)
        case .close: context?.close(promise: nil)
        }
    }

    private func wait(_ limit: ProxyFront.Limit) {
        waitsFor = limit
        let duration: Duration =
            switch limit {
            case .request: proxy.configuration.requestTimeout
            case .keepAlive: proxy.configuration.keepAlive
            case .decision: proxy.configuration.decisionTimeout
            case .linger: .seconds(2)
            }
        deadline?.move(in: TimeAmount(duration))
    }

    private func isLate() { if waitsFor == .decision { decisionIsLate() } else { context?.close(promise: nil) } }

    private func failBody() {
        body?.finish(.failure(ExchangeFailure(reason: .closedBeforeAnswer)))
        body = nil
    }

    // MARK: Answers

    private func mustTake() {
        answerDeadline?.move(in: TimeAmount(proxy.configuration.answerTimeout))
        place?.isWaiting(true)
    }

    private func answerTaken() {
        answerDeadline?.stop()
        place?.isWaiting(isIdle)
    }

    private func write(_ refusal: Refusal, _ keepsAlive: Bool, _ hasBody: Bool) {
        guard let context, context.channel.isActive else { return }
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
        if hasBody { context.write(wrapOutboundOut(.body(.byteBuffer(body))), promise: nil) }
    }

    private func endAnswer() {
        guard let context, context.channel.isActive else { return }
        let done = context.eventLoop.makePromise(of: Void.self)
        let bound = NIOLoopBound(self, eventLoop: context.eventLoop)
        mustTake()
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: done)
        done.futureResult.whenComplete { result in
            bound.value.answerTaken()
            bound.value.act(bound.value.front.answered(isTaken: (try? result.get()) != nil))
        }
    }

    // MARK: Plain HTTP

    private func forward(
        _ head: HTTPRequestHead, _ method: HTTPRequest.Method, _ url: LoadURL, _ framing: ProxyForward.Body
    ) {
        guard let context else { return }
        guard let leavePlace = proxy.takePlace(for: context.channel) else { return act(front.noRoom()) }
        let loop = context.eventLoop
        let handler = NIOLoopBound(self, eventLoop: loop)
        let readOn: @Sendable () -> Void = {
            loop.execute { handler.value.act(handler.value.front.readOn()) }
        }
        let body = BodyBuffer(readOn: readOn, giveUp: readOn)
        self.body = body
        let expectsContinue = head.headers.tokens("expect").contains("100-continue")
        let forward = ProxyForward(proxy: proxy, head: head, method: method, url: url, keepsAlive: front.keepsAlive)
        work = Task {
            let end = await forward.run(
                body: framing == .none ? nil : (body, framing),
                goOn: {
                    if expectsContinue { try await loop.flatSubmit { handler.value.writeContinue() }.get() }
                },
                write: { part in try await loop.flatSubmit { handler.value.write(part) }.get() }
            )
            leavePlace()
            loop.execute {
                handler.value.work = nil
                // The rest of it is not read, and its closures keep this handler.
                handler.value.body = nil
                handler.value.act(handler.value.front.forwarded(end))
            }
        }
    }

    private func write(_ part: HTTPServerResponsePart) -> EventLoopFuture<Void> {
        guard let context else {
            return proxy.configuration.eventLoopGroup.next().makeFailedFuture(ChannelError.ioOnClosedChannel)
        }
        front.answerBegins()
        mustTake()
        let bound = NIOLoopBound(self, eventLoop: context.eventLoop)
        let taken = context.writeAndFlush(wrapOutboundOut(part))
        taken.whenComplete { _ in bound.value.answerTaken() }
        return taken
    }

    /// 100 Continue, unless the answer itself came first.
    private func writeContinue() -> EventLoopFuture<Void> {
        guard let context, front.mayContinue else {
            return proxy.configuration.eventLoopGroup.next().makeSucceededVoidFuture()
        }
        return context.writeAndFlush(wrapOutboundOut(.head(HTTPResponseHead(version: .http1_1, status: .continue))))
    }

    // MARK: Tunnels

    private func open(_ authority: String) {
        guard let context else { return }
        guard let leavePlace = proxy.takePlace(for: context.channel) else { return act(front.noRoom()) }
        let loop = context.eventLoop
        let handler = NIOLoopBound(self, eventLoop: loop)
        let proxy = proxy
        work = Task {
            let opened = await ProxyTunnel.open(authority, proxy: proxy, loop: loop)
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
        act(front.decisionIsLate())
    }

    private func tunnelOpened(_ opened: ProxyTunnel.Opened) {
        guard let context, context.channel.isActive, case .deciding = front.state else {
            if case .open(let back, _) = opened { back.close(promise: nil) }
            return
        }
        work = nil
        switch opened {
        case .refused(let refusal): act(front.answer(refusal))
        case .open(let back, let watch):
            act(front.tunnelOpened())
            becomeTunnel(context, back, watch)
        }
    }

    private func becomeTunnel(_ context: ChannelHandlerContext, _ back: any Channel, _ watch: TunnelWatch?) {
        let front = context.channel
        let pipeline = context.pipeline.syncOperations
        do {
            let pair = TunnelPair(
                front: front, back: back, watch: watch, idleTimeout: TimeAmount(proxy.configuration.idleTimeout),
                handshakeTimeout: TimeAmount(proxy.configuration.decisionTimeout))
            // From here on the client's bytes go to the tunnel, those that came with the request first.
            try pipeline.addHandler(TunnelHandler(pair, isFront: true))
            try back.pipeline.syncOperations.addHandler(TunnelHandler(pair, isFront: false))
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
