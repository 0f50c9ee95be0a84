// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import NIOCore

/// What a pool knows of one host: idle connections of HTTP/1.1, shared ones of HTTP/2, and who waits; who gets which is decided here.
///
/// A value that the pool keeps under its lock: it answers what is to be done, and the pool does it outside the lock.
struct PoolHost {
    struct Waiter {
        let id: Int
        let continuation: CheckedContinuation<ConnectionPool.Lease, any Error>
    }

    private struct Shared {
        let connection: HTTPConnection
        var streams: Int
        /// When the last stream ended.
        var restsSince = NIODeadline.now()
        /// A timer runs that will look whether the connection is still needed.
        var isTimed = false
    }

    private var idle: [HTTPConnection] = []
    private var shared: [Shared] = []
    /// HTTP/2 connections that take no new streams and still have some.
    private var draining: [Shared] = []
    /// All that are open: lent, idle, shared, draining.
    private(set) var connections: [ObjectIdentifier: HTTPConnection] = [:]
    private var opening = 0
    private var waiters: CircularBuffer<Waiter> = []
    private var speaksHTTP2 = false
    /// A connection to this host was made, so a failed attempt does not speak for all that wait.
    private var wasReached = false

    var isEmpty: Bool { connections.isEmpty && opening == 0 && waiters.isEmpty }

    // MARK: Lending

    /// A connection that is there: a share of an HTTP/2 one, or an idle one.
    mutating func take(streamLimit: Int) -> ConnectionPool.Lease? {
        if let index = shared.firstIndex(where: { $0.streams < streamLimit && $0.connection.channel.isActive }) {
            shared[index].streams += 1
            return ConnectionPool.Lease(connection: shared[index].connection, isReused: true)
        }
        while let connection = idle.popLast() {
            if connection.channel.isActive { return ConnectionPool.Lease(connection: connection, isReused: true) }
        }
        return nil
    }

    /// Counts one more attempt to open a connection, where the limit allows it for a caller who found none.
    mutating func beginOpening(limit: Int) -> Bool {
        guard connections.count + opening < limit, !(speaksHTTP2 && opening > 0) else { return false }
        opening += 1
        return true
    }

    /// The same for those who wait. Before the first success, attempts that run are waited for: they tell whether the host can be reached.
    mutating func beginOpeningForWaiters(limit: Int) -> Bool {
        guard !waiters.isEmpty, connections.count + opening < limit, opening < waiters.count,
            opening == 0 || wasReached && !speaksHTTP2
        else { return false }
        opening += 1
        return true
    }

    /// Those whom the failure of an attempt is to be told.
    ///
    /// - Parameter asWaiters: the attempt was made for the first in the line, so it has the error in any case.
    mutating func openingFailed(_ error: any Error, asWaiters: Bool) -> CircularBuffer<Waiter> {
        opening -= 1
        // Who was cancelled says nothing about the host; another attempt is made for those who wait.
        if connections.isEmpty, opening == 0, !(error is CancellationError) {
            defer { waiters = [] }
            return waiters
        }
        guard asWaiters, let first = waiters.popFirst() else { return [] }
        return [first]
    }

    mutating func wait(_ waiter: Waiter) { waiters.append(waiter) }

    /// Out of the line; nil if it has been served.
    mutating func removeWaiter(_ id: Int) -> Waiter? {
        waiters.firstIndex { $0.id == id }.map { waiters.remove(at: $0) }
    }

    // MARK: Coming back

    /// Takes a new connection in.
    ///
    /// - Parameter lent: whoever had it opened uses it already.
    /// - Returns: those who wait and whom it can carry.
    mutating func admit(_ connection: HTTPConnection, lent: Bool, streamLimit: Int) -> [Waiter] {
        opening -= 1
        wasReached = true
        connections[ObjectIdentifier(connection)] = connection
        var served: [Waiter] = []
        if connection.isHTTP2 {
            speaksHTTP2 = true
            var streams = lent ? 1 : 0
            while streams < streamLimit, let waiter = waiters.popFirst() {
                served.append(waiter)
                streams += 1
            }
            shared.append(Shared(connection: connection, streams: streams))
        } else if !lent {
            if let waiter = waiters.popFirst() { served.append(waiter) } else { idle.append(connection) }
        }
        return served
    }

    /// Who has an HTTP/1.1 connection that is free now; nil if nobody waits.
    mutating func nextWaiter() -> Waiter? { waiters.popFirst() }

    /// An HTTP/1.1 connection is free and nobody waits for it.
    mutating func rest(_ connection: HTTPConnection) { idle.append(connection) }

    /// Connections that carry nothing.
    var resting: Int { idle.count + shared.count { $0.streams == 0 } }

    /// What becomes of an HTTP/2 connection after one of its streams.
    enum StreamEnd {
        case goOn
        case serve(Waiter)
        case close
        case rest
    }

    mutating func endStream(of connection: HTTPConnection, closesUnused: Bool) -> StreamEnd {
        if let index = draining.firstIndex(where: { $0.connection === connection }) {
            draining[index].streams -= 1
            return draining[index].streams == 0 ? .close : .goOn
        }
        guard let index = shared.firstIndex(where: { $0.connection === connection }) else { return .goOn }
        if let waiter = waiters.popFirst() { return .serve(waiter) }
        shared[index].streams -= 1
        guard shared[index].streams == 0 else { return .goOn }
        if closesUnused {
            shared.remove(at: index)
            return .close
        }
        shared[index].restsSince = .now()
        if shared[index].isTimed { return .goOn }
        shared[index].isTimed = true
        return .rest
    }

    /// What the timer of a shared connection finds.
    enum RestEnd {
        case unused
        case inUse
        /// It was used meanwhile and rests again: look once more then.
        case later(NIODeadline)
    }

    mutating func endRest(of connection: HTTPConnection, keepAlive: TimeAmount, at now: NIODeadline) -> RestEnd {
        guard let index = shared.firstIndex(where: { $0.connection === connection }) else { return .inUse }
        let end = shared[index].restsSince + keepAlive
        if shared[index].streams == 0, end > now { return .later(end) }
        shared[index].isTimed = false
        return shared[index].streams == 0 ? .unused : .inUse
    }

    /// An HTTP/2 connection takes no new streams.
    ///
    /// - Returns: whether none runs.
    mutating func drain(_ connection: HTTPConnection) -> Bool {
        guard let index = shared.firstIndex(where: { $0.connection === connection }) else { return false }
        let drained = shared.remove(at: index)
        if drained.streams > 0 { draining.append(drained) }
        return drained.streams == 0
    }

    /// A connection is closed.
    mutating func forget(_ connection: HTTPConnection) {
        connections[ObjectIdentifier(connection)] = nil
        idle.removeAll { $0 === connection }
        shared.removeAll { $0.connection === connection }
        draining.removeAll { $0.connection === connection }
    }

    /// The end: what carries nothing now, and all who wait.
    mutating func shutDown() -> (unused: [HTTPConnection], waiters: CircularBuffer<Waiter>) {
        defer {
            idle = []
            waiters = []
        }
        return (idle + shared.filter { $0.streams == 0 }.map(\.connection), waiters)
    }
}
