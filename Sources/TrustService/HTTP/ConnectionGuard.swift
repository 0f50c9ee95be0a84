// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ConnectionAdmission
import Formats
import NIOCore
import NIOHTTP1
import Vocabulary

/// Sits behind the HTTP decoder of one connection: gives every state of it a deadline, counts its requests, and answers unreadable ones with
/// a problem document.
///
/// A connection is always in one ``Phase``, which follows from what was read and written; each change of phase sets its deadline anew, so
/// that there is no path on which none runs. The last answer of a connection says `Connection: close`, and then what the client still
/// sends is read and dropped for ``Limits/linger``, because a socket that is closed with unread bytes in it takes the answer with it.
final class ConnectionGuard: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    /// What the connection waits for.
    enum Phase: String, Sendable, CaseIterable {
        /// The first head.
        case first
        /// The rest of a later head.
        case head
        /// The end of a request.
        case request
        /// The handler.
        case answer
        /// The client, to read an answer.
        case unread
        /// The next request.
        case idle
        /// The client's end, after the last answer.
        case linger

        /// Whether a deadline that passes in this phase is somebody's fault.
        var isCountedAtItsEnd: Bool { self != .linger && self != .idle }
    }

    private let limits: ConnectionLimits
    private let watcher: ConnectionWatcher
    private let gate: RequestGate?
    private let admission: Admission?
    private var place: Admission.Place?
    private var slots: RequestSlots?
    private var phase = Phase.first
    private var born = NIODeadline.now()
    private var deadline = NIODeadline.distantFuture
    private var timer: Scheduled<Void>?

    /// Whether the head of a request was read, and its end was not.
    private var isReading = false
    /// Whether the request that is being read waits for 100 before it sends its body.
    private var owesContinue = false
    /// Requests whose answer has not been written.
    private var unanswered = 0
    /// Answers that were written and that the system has not taken yet.
    private var unflushed = 0
    /// All requests of the connection.
    private var requests = 0
    /// Bytes since the last head.
    private var bytes = 0
    /// Whether what is being read was refused, and is dropped.
    private var isRefused = false
    /// The status of the answer that is being written.
    private var status: UInt = 0
    /// Whether a request was longer than anything that is read.
    private var isOverrun = false
    /// Whether no further request is taken.
    private var isLast = false
    /// Whether the service stops.
    private var isStopping = false

    /// - Parameters:
    ///   - gate: nil if no request is refused because of the load.
    ///   - admission: is told when the connection waits for a request.
    init(limits: ConnectionLimits, watcher: ConnectionWatcher, gate: RequestGate?, admission: Admission? = nil) {
        self.admission = admission
        self.limits = limits
        self.watcher = watcher
        self.gate = gate
        slots = gate.map { RequestSlots($0.limit) }
    }

    func handlerAdded(context: ChannelHandlerContext) {
        born = .now()
        deadline = born + limits.first
        place = admission?.place(of: context.channel)
        place?.isWaiting(true)
        tick(context)
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        timer?.cancel()
        place = nil
        slots?.abandon(on: context.eventLoop)
    }

    func channelInactive(context: ChannelHandlerContext) {
        timer?.cancel()
        slots?.abandon(on: context.eventLoop)
        context.fireChannelInactive()
    }

    // MARK: What the client sends

    /// Counts bytes before the decoder gets them; false if they are to be dropped.
    func take(_ count: Int, _ context: ChannelHandlerContext) -> Bool {
        guard phase != .linger, !isOverrun else { return false }
        bytes = min(bytes, Int.max / 2) + count
        if phase == .idle { enter(.head, for: limits.head, context) }
        guard bytes <= limits.requestBytes else {
            isOverrun = true
            isLast = true
            settle(context)
            return false
        }
        return true
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        // Nothing follows the last request, except its own rest.
        if phase == .linger || isLast && !isReading { return }
        switch unwrapInboundIn(data) {
        case .head(var head):
            guard RequestHeadRule.isReadable(head), let target = RequestHeadRule.originForm(head.uri) else {
                isLast = true
                return unanswered == 0 ? unreadable(context) : settle(context)
            }
            head.uri = target
            requests += 1
            bytes = 0
            isReading = true
            // The decoder reads nothing behind a request that asks for another protocol, so the client must know that nothing will be answered.
            isLast =
                !head.isKeepAlive || requests >= limits.requests || head.method == .CONNECT
                || head.headers.contains(name: "upgrade")
                || NIODeadline.now() > born + limits.total
            let place = gate?.place(of: head)
            if let gate, let place, !gate.limit.admits(place.lane, at: .now()) {
                return refuse(head, place, by: gate, context)
            }
            slots?.open(place?.lane)
            unanswered += 1
            isLast = isLast || unanswered >= limits.pipelined
            owesContinue = RequestHeadRule.wantsContinue(head, bodyLimit: limits.bodyBytes)
            goOn(context)
            settle(context)
            context.fireChannelRead(wrapInboundOut(.head(head)))
        case .body:
            owesContinue = false
            if !isRefused { context.fireChannelRead(data) }
        case .end:
            (isReading, owesContinue) = (false, false)
            bytes = 0
            if isRefused {
                isRefused = false
                return settle(context)
            }
            slots?.complete(at: .now())
            settle(context)
            context.fireChannelRead(data)
        }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        switch event {
        case is ChannelShouldQuiesceEvent:
            (isLast, isStopping) = (true, true)
            // A handler may finish its work; a client gets no more time than closing takes.
            if phase != .answer { deadline = min(deadline, .now() + limits.linger) }
            tick(context)
        case ChannelEvent.inputClosed where phase == .linger: return context.close(promise: nil)
        default: break
        }
        context.fireUserInboundEventTriggered(event)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard error is HTTPParserError else { return context.fireErrorCaught(error) }
        if phase == .linger { return }
        isLast = true
        guard isReading else { return unanswered == 0 ? unreadable(context) : settle(context) }
        // A body that cannot be read. Whoever waits for it learns of it and answers; what is answered already needs no more.
        guard unanswered > 0 else { return end("unreadable", context) }
        isReading = false
        watcher.ended("unreadable")
        settle(context)
        context.fireErrorCaught(UnreadableBody())
    }

    // MARK: What the service answers

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        switch unwrapOutboundIn(data) {
        case .head(var head):
            status = head.status.code
            guard isLast, unanswered <= 1 else { return context.write(data, promise: promise) }
            head.headers.replaceOrAdd(name: "connection", value: "close")
            context.write(wrapOutboundOut(.head(head)), promise: promise)
        case .body: context.write(data, promise: promise)
        case .end:
            unanswered = max(0, unanswered - 1)
            slots?.answered(isAccepted: status < 400, at: .now())
            writeEnd(data, promise, context)
        }
    }

    private func writeEnd(_ data: NIOAny, _ promise: EventLoopPromise<Void>?, _ context: ChannelHandlerContext) {
        let taken = promise ?? context.eventLoop.makePromise(of: Void.self)
        unflushed += 1
        let loopBound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        taken.futureResult.whenComplete { _ in
            let (owner, context) = loopBound.value
            owner.unflushed -= 1
            // Whatever was taken is progress: the next answer gets its own time.
            owner.settle(context, isProgress: true)
        }
        context.write(data, promise: taken)
        goOn(context)
        settle(context)
    }

    /// Asks for the body that a client holds back, once every request before it is answered: answers keep their order.
    private func goOn(_ context: ChannelHandlerContext) {
        guard owesContinue, unanswered == 1 else { return }
        owesContinue = false
        context.writeAndFlush(wrapOutboundOut(.head(.init(version: .http1_1, status: .continue))), promise: nil)
    }

    /// Answers a request for which there is no room, and drops the rest of it. The connection stays, because a new one costs more than a refusal.
    private func refuse(
        _ request: HTTPRequestHead, _ place: RequestGate.Place, by gate: RequestGate, _ context: ChannelHandlerContext
    ) {
        guard unanswered == 0 else {
            // Answers keep their order, so this one would have to wait. The client asks again over another connection (RFC 9112, section 9.3.2).
            _ = gate.refuse(place, isLast: true)
            (isLast, isReading) = (true, false)
            return settle(context)
        }
        isRefused = true
        isLast =
            isLast || unflushed >= ConnectionGuard.refusalsUnread || request.headers.contains(name: "expect")
            || !ConnectionGuard.isShort(request, limits.bodyBytes)
        let (head, body) = gate.refuse(place, isLast: isLast)
        context.write(wrapOutboundOut(.head(head)), promise: nil)
        if request.method != .HEAD { context.write(wrapOutboundOut(.body(.byteBuffer(body))), promise: nil) }
        writeEnd(NIOAny(HTTPServerResponsePart.end(nil)), nil, context)
        context.flush()
    }

    /// Refusals that a client has not read: then its connection ends, so that answers do not pile up.
    private static let refusalsUnread = 8

    /// Whether the body of a request has no more bytes than that, by its own word.
    private static func isShort(_ request: HTTPRequestHead, _ limit: Int) -> Bool {
        if request.headers.contains(name: "transfer-encoding") { return false }
        guard let length = request.headers.first(name: "content-length") else { return true }
        return Int(length).map { $0 <= limit } ?? false
    }

    /// Answers what is no request with a problem document, and ends the connection.
    private func unreadable(_ context: ChannelHandlerContext) {
        isLast = true
        let body = watcher.unreadable().rendered(pretty: false)
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
        writeEnd(NIOAny(HTTPServerResponsePart.end(nil)), nil, context)
        context.flush()
    }

    // MARK: Deadlines

    /// Finds the phase from what was read and written, and gives it its deadline if it is a new one.
    private func settle(_ context: ChannelHandlerContext, isProgress: Bool = false) {
        guard phase != .linger, context.channel.isActive else { return }
        let isWaitingForMore = isReading && !isOverrun
        if unflushed > 0 {
            if phase != .unread || isProgress { enter(.unread, for: limits.unread, context) }
        } else if isWaitingForMore, unanswered <= 1 {
            // Also after an early answer: the rest of the request is read and dropped.
            if phase != .request { enter(.request, for: limits.request, context) }
        } else if unanswered > 0 {
            if phase != .answer || isProgress {
                enter(.answer, for: isOverrun ? limits.linger : limits.answer, context)
            }
        } else if isLast {
            enter(.linger, for: limits.linger, context)
            context.close(mode: .output, promise: nil)
        } else if phase != .head {
            enter(.idle, for: limits.idle, context)
        }
    }

    private func enter(_ phase: Phase, for time: TimeAmount, _ context: ChannelHandlerContext) {
        self.phase = phase
        place?.isWaiting(phase == .idle)
        // What follows the handler while the service stops has no more time than what was there when the stop began.
        let time = isStopping && phase != .answer ? min(time, limits.linger) : time
        deadline = .now() + time
        if time < ConnectionGuard.longestTick { tick(context) }
    }

    /// Between two looks at the deadline: it moves with every request, the timer does not.
    private static let longestTick = TimeAmount.seconds(5)

    private func tick(_ context: ChannelHandlerContext) {
        timer?.cancel()
        let next = min(deadline, .now() + ConnectionGuard.longestTick)
        let loopBound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        timer = context.eventLoop.scheduleTask(deadline: next) {
            let (owner, context) = loopBound.value
            guard owner.deadline <= .now() else { return owner.tick(context) }
            let phase = owner.phase
            owner.end(phase.isCountedAtItsEnd ? phase.rawValue : nil, context)
        }
    }

    private func end(_ reason: String?, _ context: ChannelHandlerContext) {
        if let reason { watcher.ended(reason) }
        context.close(promise: nil)
    }
}

/// What a handler learns that waits for a body whose framing is broken. Not the decoder's own error, which the HTTP library answers by itself.
private struct UnreadableBody: Error {}

/// Counts the bytes of a connection before they are decoded, and drops those that nobody will read.
final class ConnectionByteCounter: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private let owner: ConnectionGuard

    init(_ owner: ConnectionGuard) { self.owner = owner }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if owner.take(unwrapInboundIn(data).readableBytes, context) { context.fireChannelRead(data) }
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
            let owner = make()
            try pipeline.addHandler(owner, position: .after(decoder))
            try pipeline.addHandler(ConnectionByteCounter(owner), position: .first)
        } catch {
            context.fireErrorCaught(error)
            context.close(promise: nil)
        }
    }
}
