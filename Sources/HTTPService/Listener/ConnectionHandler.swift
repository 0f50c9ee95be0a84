// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ConnectionAdmission
import Formats
import HTTPTypes
package import NIOCore
package import NIOHTTP1

/// Follows one connection, one request at a time: gives every state of it a deadline, and answers what is no request with a problem document.
///
/// While a request waits for its answer nothing is read. What a client sent with it before that is not answered: the connection ends after the
/// answer, and the client sends it again over another one (RFC 9112, section 9.3.2). The last answer of a connection says
/// `Connection: close`, and then what the client still sends is read and dropped for ``ConnectionLimits/linger``, because a socket that is
/// closed with unread bytes in it takes the answer with it.
package final class ConnectionHandler: ChannelDuplexHandler, RemovableChannelHandler {
    package typealias InboundIn = HTTPServerRequestPart
    package typealias InboundOut = HTTPServerRequestPart
    package typealias OutboundIn = HTTPServerResponsePart
    package typealias OutboundOut = HTTPServerResponsePart

    /// What the connection waits for.
    package enum Phase: String, Sendable, CaseIterable {
        /// The first head.
        case first
        /// The end of a request.
        case request
        case answer
        /// The client, to read the answer.
        case unread
        /// The next head.
        case idle
        /// The client's end, after the last answer.
        case linger

        /// Whether a deadline that passes in this phase is counted as a fault of the client or the handler.
        package var isCounted: Bool { self != .linger && self != .idle }
    }

    /// How the end of a connection is counted whose TLS handshake failed.
    package static let failedHandshake = "handshake"

    private let limits: ConnectionLimits
    /// Counts what ends connections, and logs unreadable requests like every other refusal.
    private let observer: RequestObserver
    private let sources: SystemSources
    private let admission: Admission
    private let gate: (any RequestGate)?
    /// A request that needs a place, until it has come in whole. The body is a copy: parts would keep the buffers that they were read into.
    private var held: (operation: String, head: HTTPRequestHead, body: ByteBuffer)?
    /// The operation in which the request that is being answered has a place.
    private var taken: String?
    private var place: Admission.Place?
    private var phase = Phase.first
    private let born = NIODeadline.now()
    private var deadline: MovingDeadline?
    private var context: ChannelHandlerContext?
    private var requests = 0
    /// Whether the head of a request was read, and its end was not.
    private var isReading = false
    /// Whether a read was asked for that has to wait for the answer.
    private var owesRead = false
    /// Whether no further request is taken.
    private var isLast = false
    private var isStopping = false

    init(
        limits: ConnectionLimits, observer: RequestObserver, sources: SystemSources, admission: Admission,
        gate: (any RequestGate)? = nil
    ) {
        (self.limits, self.observer, self.sources, self.admission) = (limits, observer, sources, admission)
        self.gate = gate
    }

    /// - Parameter state: the phase whose deadline passed, `unreadable` or `handshake`.
    private func countEnd(_ state: String) { observer.count(.connectionsEnded, [("state", state)]) }

    package func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        place = admission.place(of: context.channel)
        deadline = MovingDeadline(on: context.eventLoop) { [weak self] in self?.isLate() }
        enter(.first, for: limits.first)
    }

    package func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
        (place, deadline, held) = (nil, nil, nil)
        leave()
    }

    // MARK: What the client sends

    package func read(context: ChannelHandlerContext) {
        if phase == .answer || phase == .unread { owesRead = true } else { context.read() }
    }

    package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch (unwrapInboundIn(data), phase) {
        case (.head(let received), .first), (.head(let received), .idle):
            guard RequestHeadRule.isReadable(received), let head = RequestHeadRule.originForm(received) else {
                return unreadable(context)
            }
            requests += 1
            isReading = true
            // The decoder reads nothing after a request that asks for another protocol, so the client must know that nothing will be answered.
            isLast =
                isLast || !head.isKeepAlive || requests >= limits.requests || head.method == .CONNECT
                || head.headers.contains(name: "upgrade") || NIODeadline.now() > born + limits.total
            enter(.request, for: limits.request)
            if RequestHeadRule.wantsContinue(head, bodyLimit: limits.bodyBytes) {
                let proceed = HTTPResponseHead(version: .http1_1, status: .continue)
                context.writeAndFlush(wrapOutboundOut(.head(proceed)), promise: nil)
            }
            let path = IncomingRequest.split(head.uri).path
            // What is too much for any handler needs no place, and no waiting for its end.
            if RequestHeadRule.claims(head, noMoreThan: limits.bodyBytes),
                let operation = gate?.operation(method: head.method.rawValue, path: path)
            {
                held = (operation, head, ByteBuffer())
            } else {
                context.fireChannelRead(wrapInboundOut(.head(head)))
            }
        case (.body(var part), _) where isReading && phase != .linger:
            guard held != nil else { return context.fireChannelRead(data) }
            held?.body.writeBuffer(&part)
            if let held, held.body.readableBytes > limits.bodyBytes { passOn(context) }
        case (.end, _) where isReading && phase != .linger:
            isReading = false
            if let request = held {
                if let refusal = gate?.take(request.operation) {
                    held = nil
                    return answer(refusal, isHead: request.head.method == .HEAD, context)
                }
                taken = request.operation
                passOn(context)
            }
            if phase == .request { enter(.answer, for: limits.answer) }
            context.fireChannelRead(data)
        // A request that did not wait for the answer to the one before.
        case (.head, _): isLast = true
        default: break
        }
    }

    /// Passes on what was held.
    private func passOn(_ context: ChannelHandlerContext) {
        guard let request = held else { return }
        held = nil
        context.fireChannelRead(wrapInboundOut(.head(request.head)))
        if request.body.readableBytes > 0 { context.fireChannelRead(wrapInboundOut(.body(request.body))) }
    }

    /// Gives back the place of the request, whose answer is on its way or whose connection has ended.
    private func leave() {
        guard let operation = taken else { return }
        taken = nil
        gate?.leave(operation)
    }

    package func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        switch event {
        case is ChannelShouldQuiesceEvent:
            (isLast, isStopping) = (true, true)
            // The library closes a connection on which it has seen no request.
            passOn(context)
            // A handler may finish its work; a client gets no more time than closing takes.
            if phase != .answer { deadline?.shorten(to: limits.linger) }
        case ChannelEvent.inputClosed where phase == .linger: return context.close(promise: nil)
        default: break
        }
        context.fireUserInboundEventTriggered(event)
    }

    package func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard error is HTTPParserError else {
            if ListenerIdentity.isFailedHandshake(error) { countEnd(ConnectionHandler.failedHandshake) }
            return context.fireErrorCaught(error)
        }
        isLast = true
        switch phase {
        case .first, .idle: unreadable(context)
        case .request where held != nil: unreadable(context)
        case .request:
            // A body that cannot be read: the handler that waits for it answers.
            isReading = false
            countEnd("unreadable")
            enter(.answer, for: limits.answer)
            context.fireErrorCaught(UnreadableBody())
        case .answer, .unread, .linger: break
        }
    }

    // MARK: What the service answers

    package func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        switch unwrapOutboundIn(data) {
        case .head(var head):
            leave()
            // The rest of a request that was answered before its end is dropped, and no other one is found behind it.
            isLast = isLast || isReading
            enter(.unread, for: limits.unread)
            guard isLast else { return context.write(data, promise: promise) }
            head.headers.replaceOrAdd(name: "connection", value: "close")
            context.write(wrapOutboundOut(.head(head)), promise: promise)
        case .body: context.write(data, promise: promise)
        case .end: writeEnd(data, promise, context)
        }
    }

    private func writeEnd(_ data: NIOAny, _ promise: EventLoopPromise<Void>?, _ context: ChannelHandlerContext) {
        let taken = promise ?? context.eventLoop.makePromise(of: Void.self)
        let loopBound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        taken.futureResult.whenSuccess {
            let (owner, context) = loopBound.value
            owner.wasTaken(context)
        }
        context.write(data, promise: taken)
    }

    /// The system has the whole answer.
    private func wasTaken(_ context: ChannelHandlerContext) {
        if isLast || isReading {
            isLast = true
            enter(.linger, for: limits.linger)
            context.close(mode: .output, promise: nil)
        } else {
            enter(.idle, for: limits.idle)
        }
        if owesRead {
            owesRead = false
            context.read()
        }
    }

    /// Answers what is no request, and ends the connection.
    private func unreadable(_ context: ChannelHandlerContext) {
        isLast = true
        held = nil
        let (problem, correlationId) = (Problem.malformed("not a request"), sources.correlationId())
        let answer = Answer.problem(problem, correlationId: correlationId)
        observer.finished(
            operation: "unreadable", answer: answer, seconds: 0, at: sources.uptime(), correlationId: correlationId,
            evidence: problem.evidence)
        self.answer(answer, isHead: false, context)
    }

    /// Answers what nothing behind this handler has seen.
    private func answer(_ answer: Answer, isHead: Bool, _ context: ChannelHandlerContext) {
        var head = HTTPResponseHead(version: .http1_1, status: HTTPResponseStatus(statusCode: answer.status))
        let fields = answer.fields
        for field in fields { head.headers.add(name: field.name.canonicalName, value: field.value) }
        head.headers.replaceOrAdd(name: "content-length", value: String(answer.body.count))
        write(context: context, data: wrapOutboundOut(.head(head)), promise: nil)
        let body = ByteBuffer(bytes: answer.body)
        if !isHead { context.write(wrapOutboundOut(.body(.byteBuffer(body))), promise: nil) }
        writeEnd(NIOAny(HTTPServerResponsePart.end(nil)), nil, context)
        context.flush()
    }

    // MARK: Deadlines

    private func enter(_ phase: Phase, for time: TimeAmount) {
        self.phase = phase
        // For its client: one that sends half a request, reads no answer, or stays after the last one holds no place against others.
        place?.isWaiting(phase != .answer)
        // While the service stops, nothing but a handler has more time than closing takes.
        deadline?.move(in: isStopping && phase != .answer ? min(time, limits.linger) : time)
    }

    private func isLate() {
        if phase.isCounted { countEnd(phase.rawValue) }
        context?.close(promise: nil)
    }
}

/// Which requests need a place among those that are being answered, and who gets one. Asked in the event loop of the connection, where a refusal
/// costs least.
package protocol RequestGate: Sendable {
    /// The operation of such a request; nil for one that needs no place.
    func operation(method: String, path: String) -> String?
    /// Takes a place for a request that has come in whole; the answer if there is none.
    func take(_ operation: String) -> Answer?
    /// Gives a place back.
    func leave(_ operation: String)
}

/// What a handler learns that waits for a body whose framing is broken. Not the decoder's own error, which the HTTP library answers by itself.
private struct UnreadableBody: Error {}

/// Puts TLS first and a ``ConnectionHandler`` after the decoder: the only place that Hummingbird opens to handlers comes after the
/// conversion to its own message types.
final class ConnectionHandlerInstaller: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = NIOAny

    private let identity: (@Sendable () -> ListenerIdentity)?
    private let make: @Sendable () -> ConnectionHandler

    init(identity: (@Sendable () -> ListenerIdentity)?, make: @escaping @Sendable () -> ConnectionHandler) {
        (self.identity, self.make) = (identity, make)
    }

    func handlerAdded(context: ChannelHandlerContext) {
        let pipeline = context.pipeline.syncOperations
        do {
            try identity?().secure(pipeline)
            let decoder = try pipeline.handler(type: ByteToMessageHandler<HTTPRequestDecoder>.self)
            try pipeline.addHandler(make(), position: .after(decoder))
        } catch {
            context.fireErrorCaught(error)
            context.close(promise: nil)
        }
    }
}

/// How long one connection may stay in each state, and how much it may carry.
package struct ConnectionLimits: Sendable {
    /// From the connection to its first complete head, the TLS handshake included.
    package var first = TimeAmount.seconds(10)
    /// From the head of a request to its end.
    package var request = TimeAmount.seconds(10)
    /// From the end of a request to its answer. Handlers have shorter deadlines; this one is for those that lost it.
    package var answer = TimeAmount.seconds(60)
    /// From the begin of an answer until the system has taken all of it.
    package var unread = TimeAmount.seconds(10)
    /// From an answer to the complete next head.
    package var idle = TimeAmount.seconds(75)
    /// From the last answer to the client's end; what comes meanwhile is dropped.
    package var linger = TimeAmount.seconds(2)
    /// A request that begins later than this after the connection is the last one.
    package var total = TimeAmount.hours(1)
    /// The most requests of one connection; the last is answered with `Connection: close`.
    package var requests = 10_000
    /// Bodies that claim more get no `100 Continue`.
    package var bodyBytes = 1 << 16

    package init() {}
}
