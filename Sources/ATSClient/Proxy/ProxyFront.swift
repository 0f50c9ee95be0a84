// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import HTTPTypes
import NIOCore
import NIOHTTP1
import Vocabulary

/// The state of a client's connection to the proxy, as a value without a channel, a clock or a task: each event returns the actions that
/// ``ProxyFrontHandler`` takes, in their order.
///
/// Every state has a limit: on what the client must send (``Action/wait(_:)``), and on how long it reads nothing (`answerTimeout`).
struct ProxyFront {
    enum State {
        /// Between requests, or in the header fields of one. Limit: `keepAlive`, from the first byte and for the first request `requestTimeout`.
        case idle(isInHead: Bool)
        /// The request is refused already; its end is waited for. Limit: `requestTimeout`.
        case discarding(Refusal)
        /// A CONNECT whose end has not come. Limit: `requestTimeout`.
        case connecting(HTTPRequestHead)
        /// A request that is being forwarded. Limits: `requestTimeout` between two pieces of its body while the server takes them,
        /// `exchangeTimeout` and `idleTimeout` by the client that forwards, `answerTimeout`.
        case forwarding(isRequestOver: Bool, hasAnswerBegun: Bool)
        /// A CONNECT is being decided. Limit: `decisionTimeout`.
        case deciding
        /// An answer is on its way. Limit: `answerTimeout`.
        case answering
        /// Answered before the request was over: what still comes is forgotten, so that the client can read the answer. Limit: ``Limit/linger``.
        case lingering
        /// Limits: `idleTimeout`, and `decisionTimeout` for the handshake; see ``TunnelPair``.
        case tunnel
    }

    /// How long the client may take.
    enum Limit {
        case request, keepAlive, decision, linger
    }

    enum Action {
        /// Waits for the client, or for a decision, until the limit and no longer.
        case wait(Limit)
        case stopWaiting
        /// Sends the request to its server, or reports ``noRoom()``.
        case forward(HTTPRequestHead, HTTPRequest.Method, LoadURL, ProxyForward.Body)
        case body(ByteBuffer)
        case endBody
        /// The rest of the body will not come.
        case failBody
        /// Decides about the destination of a CONNECT, or reports ``noRoom()``.
        case open(authority: String)
        /// Writes an answer of the proxy itself, apart from its end.
        case answer(Refusal, keepsAlive: Bool, hasBody: Bool)
        /// Writes the end of an answer, and reports when the client has taken it.
        case endAnswer
        case closeOutput
        case close
    }

    private(set) var state = State.idle(isInHead: true)
    /// Whether no more is read from the client for now.
    private(set) var holdsRead = false
    /// The connection can carry another request after this one.
    private(set) var keepsAlive = true
    private var waiting: CircularBuffer<HTTPServerRequestPart> = []
    /// What came after the requests that wait is not HTTP, or the body of the request that is being forwarded is malformed.
    private var isBroken = false
    /// The answer has no body, because the request is a HEAD.
    private var isHead = false
    private var hasBody = false
    private let authorize: (HTTPRequestHead) -> ProxyPasswords.Verdict

    /// - Parameter authorize: judges the password of a request.
    init(authorize: @escaping (HTTPRequestHead) -> ProxyPasswords.Verdict) { self.authorize = authorize }

    // MARK: What the client does

    /// Bytes came that are not decoded yet.
    mutating func bytesArrived() -> [Action] {
        guard case .idle(isInHead: false) = state else { return [] }
        state = .idle(isInHead: true)
        return [.wait(.request)]
    }

    mutating func received(_ part: HTTPServerRequestPart) -> [Action] {
        guard isPastRequest else { return take(part) }
        // A pipelined request waits for the answer to the one before it.
        waiting.append(part)
        holdsRead = true
        return waiting.count > ProxyFront.mostWaiting ? [.close] : []
    }

    private static let mostWaiting = 64

    /// What the client sends is not HTTP.
    mutating func isMalformed() -> [Action] {
        switch state {
        // The rest of a request that was refused is forgotten, whatever it is.
        case .lingering: return []
        // What comes before it has its answer: what follows the last request of a connection is forgotten (RFC 9112 section 9.6), and
        // any other nonsense is refused in its turn.
        case .answering, .deciding, .forwarding(isRequestOver: true, _):
            isBroken = true
            return []
        case .idle, .connecting: return refuseNonsense()
        case .discarding(let refusal):
            keepsAlive = false
            return answer(refusal)
        case .forwarding(isRequestOver: false, hasAnswerBegun: false):
            // The request that went out cannot be completed; its end brings the answer.
            isBroken = true
            return [.failBody]
        case .forwarding, .tunnel: return [.close]
        }
    }

    /// Whether no request is under way.
    var isIdle: Bool { if case .idle = state { true } else { false } }

    private var isPastRequest: Bool {
        switch state {
        case .answering, .deciding, .forwarding(isRequestOver: true, _): true
        default: false
        }
    }

    private mutating func take(_ part: HTTPServerRequestPart) -> [Action] {
        switch (part, state) {
        case (.head(let head), .idle): return begin(head)
        case (.body(let bytes), .forwarding): return [.wait(.request), .body(bytes)]
        case (.end, .forwarding(_, let hasAnswerBegun)):
            state = .forwarding(isRequestOver: true, hasAnswerBegun: hasAnswerBegun)
            if !keepsAlive { holdsRead = true }
            return [.stopWaiting, .endBody]
        case (.end, .connecting(let head)):
            // What the client sends ahead stays with the system until there is a tunnel.
            holdsRead = true
            state = .deciding
            return [.wait(.decision), .open(authority: head.uri)]
        case (.end, .discarding(let refusal)): return answer(refusal)
        case (.end, .lingering): return [.close]
        default: return []
        }
    }

    private mutating func begin(_ received: HTTPRequestHead) -> [Action] {
        var head = received
        isHead = head.method == .HEAD
        // After a CONNECT, and after a request that asks to change the protocol, the decoder reads no more requests.
        let leavesHTTP = head.method == .CONNECT || head.headers.contains(name: "upgrade")
        keepsAlive = head.isKeepAlive && head.version == .http1_1 && !leavesHTTP
        let body = ProxyForward.Body(head)
        hasBody = body != .none
        switch authorize(head) {
        case .right: break
        case .missing:
            return refuse(.proxyAuthenticationRequired, "The proxy requires a user name and a password.")
        case .wrong:
            keepsAlive = false
            return refuse(.proxyAuthenticationRequired, "The user name or the password is wrong.")
        case .tooMany:
            keepsAlive = false
            return refuse(
                .tooManyRequests, "Too many wrong passwords came from this address; wait ten seconds.")
        }
        // RFC 9112 section 3.2. A CONNECT names its host itself and is not forwarded, so simple clients may leave the field out.
        let hosts = head.headers["host"].count
        guard hosts == 1 || (hosts == 0 && (head.version == .http1_0 || head.method == .CONNECT)) else {
            keepsAlive = false
            return refuse(.badRequest, "An HTTP/1.1 request needs exactly one Host field.")
        }
        if body == .unclear { return refuse(.badRequest, "The length of the request is invalid.") }
        if hasBody, head.method == .TRACE || head.method == .CONNECT {
            return refuse(.badRequest, "A \(head.method.rawValue) request has no body.")
        }
        if let refusal = head.takeForward() { return refuse(refusal) }
        if head.method == .CONNECT {
            state = .connecting(head)
            return [.wait(.request)]
        }
        guard let method = HTTPRequest.Method(rawValue: head.method.rawValue) else {
            return refuse(.badRequest, "The method is not a token.")
        }
        guard head.uri.hasPrefixIgnoringCase("http://") else {
            return refuse(
                .badRequest,
                head.uri.hasPrefixIgnoringCase("https://")
                    ? "The proxy never decrypts: use CONNECT for https."
                    : "This is a forward proxy: send an absolute URL or CONNECT.")
        }
        do {
            let url = try LoadURL(head.uri)
            state = .forwarding(isRequestOver: false, hasAnswerBegun: false)
            return [.wait(.request), .forward(head, method, url, body)]
        } catch {
            return refuse(.badRequest, "The URL cannot be used: \(error.reason.terminalSafe(limit: 200)).")
        }
    }

    private mutating func refuse(_ status: HTTPResponseStatus, _ text: String) -> [Action] {
        refuse(Refusal(status: status, text: text))
    }

    /// Refuses at once where a body follows, which its sender may hold back until it knows; otherwise at the end of the request.
    private mutating func refuse(_ refusal: Refusal) -> [Action] {
        if hasBody { return answer(refusal, lingers: true) }
        state = .discarding(refusal)
        return [.wait(.request)]
    }

    private mutating func refuseNonsense() -> [Action] {
        keepsAlive = false
        isHead = false
        return answer(
            Refusal(status: .badRequest, text: "The request is not HTTP, or its header fields are too large."))
    }

    // MARK: What the server does

    /// The proxy has no connection left for the server.
    mutating func noRoom() -> [Action] {
        keepsAlive = false
        let isOver = if case .forwarding(isRequestOver: false, _) = state { false } else { true }
        return answer(
            Refusal(status: .serviceUnavailable, text: "The proxy has too many connections."),
            lingers: hasBody && !isOver)
    }

    /// The server does not take the body as fast as it comes.
    mutating func bodyIsHeld() -> [Action] {
        holdsRead = true
        return [.stopWaiting]
    }

    /// Whether the client may still be told to send its body.
    var mayContinue: Bool {
        if case .forwarding(_, hasAnswerBegun: false) = state { true } else { false }
    }

    mutating func answerBegins() {
        if case .forwarding(let isOver, _) = state { state = .forwarding(isRequestOver: isOver, hasAnswerBegun: true) }
    }

    mutating func forwarded(_ end: ProxyForward.End) -> [Action] {
        if isBroken, case .forwarding(isRequestOver: false, hasAnswerBegun: false) = state { return refuseNonsense() }
        let isRequestOver = if case .forwarding(isRequestOver: true, _) = state { true } else { false }
        switch end {
        case .complete(let closes):
            if closes || !isRequestOver { keepsAlive = false }
            return finish(lingers: !isRequestOver)
        case .refused(let refusal): return answer(refusal, lingers: !isRequestOver)
        case .broken: return [.close]
        }
    }

    mutating func decisionIsLate() -> [Action] {
        answer(Refusal(status: .gatewayTimeout, text: "The server could not be judged in time."))
    }

    mutating func tunnelOpened() -> [Action] {
        state = .tunnel
        return [.stopWaiting]
    }

    // MARK: Answers

    mutating func answer(_ refusal: Refusal, lingers: Bool = false) -> [Action] {
        if lingers { keepsAlive = false }
        return [.answer(refusal, keepsAlive: keepsAlive, hasBody: !isHead)] + finish(lingers: lingers)
    }

    /// Ends an answer; when the client has taken it the connection waits for the next request, or closes.
    ///
    /// - Parameter lingers: the request is not over. Closing at once would reset the connection and take the answer away from its client
    ///   (RFC 9112 section 9.6), so the rest is read and forgotten for a while.
    private mutating func finish(lingers: Bool) -> [Action] {
        state = lingers ? .lingering : .answering
        return (lingers ? [.wait(.linger)] + readOn() : [.stopWaiting]) + [.endAnswer]
    }

    /// - Parameter isTaken: false if it could not be written.
    mutating func answered(isTaken: Bool) -> [Action] {
        if isTaken, case .lingering = state { return [.closeOutput] }
        guard keepsAlive, isTaken else { return [.close] }
        state = .idle(isInHead: false)
        var actions: [Action] = [.wait(.keepAlive)]
        while !isPastRequest, let part = waiting.popFirst() { actions += take(part) }
        if isBroken, case .idle = state { return actions + refuseNonsense() }
        return actions + readOn()
    }

    /// The client may go on: the server takes more of the body, or answered without reading all of it, so that the rest is forgotten.
    mutating func readOn() -> [Action] {
        guard waiting.isEmpty else { return [] }
        holdsRead = false
        if case .forwarding(isRequestOver: false, _) = state { return [.wait(.request)] }
        return []
    }
}
