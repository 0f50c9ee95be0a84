// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOHTTP1
import Synchronization

/// One request on the wire, ready to be sent.
struct WireRequest: Sendable {
    let head: HTTPRequestHead
    let body: RequestBody.Content
    /// When the whole load must be over.
    let deadline: NIODeadline?
    let idleTimeout: TimeAmount?
    let bodyLimit: Int?
    let toleratesUncleanClose: Bool
}

/// The answer as it comes off the wire.
struct WireResponse: Sendable {
    let head: HTTPResponseHead
    let body: ResponseBody
}

/// Why an exchange over a complied connection ended without a complete answer.
struct ExchangeFailure: Error, Sendable {
    enum Reason: Sendable, Equatable {
        case closedBeforeAnswer
        case reset
        case timeout
        /// No piece of the answer came for this long.
        case stalled
        /// The answer broke off in the middle of its body.
        case incompleteBody
        case malformed(String)
        case headerTooLarge
        case bodyTooLarge(limit: Int)
        /// A TLS alert after the handshake.
        case alert(UInt8)
        /// The source of the request body failed.
        case requestBody(String)
        case shutDown
    }

    let reason: Reason
    /// Whether any byte of an answer had come: without one, a request on a reused connection may be sent again.
    var answerHadBegun = false
}

/// One request and its answer, between the task that waits and the channel that works. Its state is confined to the event loop, except for the
/// cancellation, which may come from anywhere.
final class Exchange: @unchecked Sendable {
    let request: WireRequest
    /// Taken by the event loop; nil after it was resumed. Only touched on the event loop.
    var continuation: CheckedContinuation<WireResponse, any Error>?
    /// Who runs it. Only touched on the event loop.
    weak var handler: ExchangeHandler?
    /// Called once on the event loop when it is over; whether the connection can take another one.
    let onEnd: @Sendable (_ canBeReused: Bool) -> Void
    private let cancelled = Mutex(false)

    init(_ request: WireRequest, onEnd: @escaping @Sendable (_ canBeReused: Bool) -> Void) {
        self.request = request
        self.onEnd = onEnd
    }

    /// How many bytes the body must have; nil if it is sent in chunks.
    var announcedLength: Int? {
        if case .stream(let length, _) = request.body { length } else { nil }
    }

    var isCancelled: Bool { cancelled.withLock { $0 } }

    /// Ends it, whether it has begun or not.
    func cancel(on loop: any EventLoop) {
        cancelled.withLock { $0 = true }
        loop.execute { self.handler?.giveUp(self) }
    }
}
