// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import NIOCore
import NIOHTTP1
import Vocabulary

/// What a ``ConnectionGuard`` asks about each request before anything else sees it: whether the node has room for it, and what to answer if not.
///
/// All of it runs in the event loop of the connection, so that a refusal costs as little as reading the request.
struct RequestGate: Sendable {
    let limit: LoadLimit
    private let table: RouteTable
    private let lanes: [String: Int]
    private let refusal: @Sendable (Route?) -> Answer

    /// The name of the lane for what no route answers.
    private static let unknown = "unknown"

    /// The operations of a table that have a limit.
    static func operations(of table: RouteTable) -> [String] {
        var names = [unknown]
        for route in table.routes where route.isLimitedByLoad && !names.contains(route.operation) {
            names.append(route.operation)
        }
        return names
    }

    /// - Parameter refusal: counts and logs a refusal, and returns the answer.
    init(limit: LoadLimit, table: RouteTable, refusal: @escaping @Sendable (Route?) -> Answer) {
        self.limit = limit
        self.table = table
        self.refusal = refusal
        let names = RequestGate.operations(of: table)
        lanes = Dictionary(names.enumerated().map { ($1, $0) }, uniquingKeysWith: { first, _ in first })
    }

    /// Where a request counts.
    struct Place {
        let lane: Int
        let route: Route?
    }

    /// Where a request counts; nil if it is never refused.
    func place(of head: HTTPRequestHead) -> Place? {
        let end = head.uri.utf8.firstIndex(of: UInt8(ascii: "?"))
        let path = end.map { String(head.uri[..<$0]) } ?? head.uri
        guard case .route(let route, _) = table.match(method: head.method.rawValue, path: path) else {
            return lanes[RequestGate.unknown].map { Place(lane: $0, route: nil) }
        }
        return lanes[route.operation].map { Place(lane: $0, route: route) }
    }

    /// The answer to a request that is not taken, as the parts of a message.
    func refuse(_ place: Place, isLast: Bool) -> (head: HTTPResponseHead, body: ByteBuffer) {
        let answer = refusal(place.route)
        var headers = HTTPHeaders()
        if let type = answer.contentType { headers.add(name: "content-type", value: type) }
        headers.add(name: "cache-control", value: "no-store")
        for (name, value) in answer.headers { headers.add(name: name.canonicalName, value: value) }
        headers.add(name: "content-length", value: String(answer.body.count))
        if isLast { headers.add(name: "connection", value: "close") }
        let status = HTTPResponseStatus(statusCode: answer.status)
        return (HTTPResponseHead(version: .http1_1, status: status, headers: headers), ByteBuffer(bytes: answer.body))
    }
}

/// The requests of one connection that count, in the order in which they came.
///
/// Only one of them is in flight: what a client sends before it has its answer waits for itself. It counts from its end, so that nobody who sends
/// slowly takes the place of others, to the end of its answer, whether or not the client reads it.
struct RequestSlots {
    private struct Waiting {
        let lane: Int?
        var isWhole = false
    }

    private let limit: LoadLimit
    /// Those that were not answered, the oldest first.
    private var waiting: [Waiting] = []
    /// The one in flight, and since when.
    private var slot: (lane: Int, since: NIODeadline)?

    init(_ limit: LoadLimit) { self.limit = limit }

    /// A head was taken.
    mutating func open(_ lane: Int?) { waiting.append(Waiting(lane: lane)) }

    /// The end of the last request came.
    mutating func complete(at now: NIODeadline) {
        guard let last = waiting.indices.last else { return }
        waiting[last].isWhole = true
        if last == 0 { fill(at: now) }
    }

    /// The oldest request was answered.
    mutating func answered(isAccepted: Bool, at now: NIODeadline) {
        if let slot { limit.end(slot.lane, from: slot.since, isAccepted: isAccepted, at: now) }
        slot = nil
        if !waiting.isEmpty { waiting.removeFirst() }
        fill(at: now)
    }

    /// The connection is gone. What it began goes on, for as long as such a request takes.
    mutating func abandon(on loop: any EventLoop) {
        waiting = []
        guard let slot else { return }
        self.slot = nil
        let limit = limit
        loop.scheduleTask(in: limit.expectation(slot.lane)) {
            limit.end(slot.lane, from: slot.since, isAccepted: false, at: .now())
        }
    }

    private mutating func fill(at now: NIODeadline) {
        guard slot == nil, let first = waiting.first, first.isWhole, let lane = first.lane else { return }
        limit.begin(lane)
        slot = (lane, now)
    }
}
