// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import NIOCore
import Synchronization
import TLSProbe
import Vocabulary

/// Connections to one host that may serve the same request.
struct PoolKey: Hashable, Sendable {
    let isSecure: Bool
    let host: String
    let port: Int
    /// The addresses that may be connected to: after a redirect not all.
    var scope = FetchScope.named
}

/// A limited number of connections for each host. A connection carries one exchange at a time, HTTP/1.1 or HTTP/2, and rests between two.
///
/// A load takes a place, then a connection that rests or a new one. The place is free again when the connection rests or is closed.
final class ConnectionPool: Sendable {
    typealias Open = @Sendable (PoolKey, NIODeadline?) async throws -> HTTPConnection

    private struct Host {
        /// Every connection that is not closed.
        var connections: [ObjectIdentifier: HTTPConnection] = [:]
        var resting: [HTTPConnection] = []

        /// One that is closed already stays until its end is reported.
        mutating func takeResting() -> HTTPConnection? {
            resting.lastIndex { $0.channel.isActive }.map { resting.remove(at: $0) }
        }
    }

    private struct State {
        /// Those with connections.
        var hosts: [PoolKey: Host] = [:]
        var isShutDown = false
    }

    private let state = Mutex(State())
    /// For connections that are opened, used or about to close.
    private let places = Places<PoolKey>()
    private let limit: Int
    private let restingLimit: Int
    private let open: Open

    init(limit: Int, restingLimit: Int, open: @escaping Open) {
        self.limit = max(1, limit)
        self.restingLimit = max(0, restingLimit)
        self.open = open
    }

    // MARK: Lending

    /// Lends a connection: one that rests, or a new one; at the limit, as soon as there is a place.
    ///
    /// - Returns: the connection, and whether it had served a request before: its server may have closed it meanwhile.
    /// - Throws: `ExchangeFailure` with reason `timeout` where the deadline is over before.
    func lease(
        _ key: PoolKey, deadline: NIODeadline?
    ) async throws -> (connection: HTTPConnection, isReused: Bool) {
        if isShutDown { throw ExchangeFailure(reason: .shutDown) }
        if let deadline, deadline <= .now() { throw ExchangeFailure(reason: .timeout) }
        do {
            let wait = deadline.map { Duration.nanoseconds(($0 - .now()).nanoseconds) }
            try await places.take(key, of: limit, within: wait)
        } catch is DeadlineFault {
            throw ExchangeFailure(reason: .timeout)
        }
        if let connection = state.withLock({ $0.hosts[key]?.takeResting() }) { return (connection, true) }
        do {
            if isShutDown { throw ExchangeFailure(reason: .shutDown) }
            let connection = try await open(key, deadline)
            admit(connection)
            return (connection, false)
        } catch {
            // Cancelled, or out of its own time: that says nothing about the host. Otherwise those who wait get the same error where the
            // host was not reached at all: they would only find the same, one after another.
            let isOwn = Task.isCancelled || deadline.map { $0 <= .now() } ?? false
            if !isOwn, state.withLock({ $0.hosts[key] == nil }) { places.endWaiting(for: key, with: error) }
            places.leave(key)
            throw error
        }
    }

    private var isShutDown: Bool { state.withLock { $0.isShutDown } }

    // MARK: Coming back

    private func admit(_ connection: HTTPConnection) {
        state.withLock {
            $0.hosts[connection.key, default: Host()].connections[ObjectIdentifier(connection)] = connection
        }
        connection.channel.closeFuture.whenComplete { _ in self.closed(connection) }
    }

    /// An exchange is over: the connection rests, or closes.
    func giveBack(_ connection: HTTPConnection, canBeReused: Bool) {
        let rests = state.withLock { state in
            let resting = state.hosts.values.reduce(0) { $0 + $1.resting.count }
            guard canBeReused, !state.isShutDown, resting < restingLimit,
                state.hosts[connection.key]?.connections[ObjectIdentifier(connection)] != nil
            else { return false }
            state.hosts[connection.key]?.resting.append(connection)
            return true
        }
        if rests { places.leave(connection.key) } else { connection.channel.close(promise: nil) }
    }

    private func closed(_ connection: HTTPConnection) {
        let hadPlace = state.withLock { state in
            guard var host = state.hosts[connection.key] else { return false }
            let resting = host.resting.firstIndex { $0 === connection }
            if let resting { host.resting.remove(at: resting) }
            host.connections[ObjectIdentifier(connection)] = nil
            state.hosts[connection.key] = host.connections.isEmpty ? nil : host
            return resting == nil
        }
        if hadPlace { places.leave(connection.key) }
    }

    // MARK: The end

    /// Takes no new requests, closes what rests, and gives what runs this long to end.
    func shutDown(grace: Duration) async {
        let resting = state.withLock { state in
            state.isShutDown = true
            return state.hosts.values.flatMap(\.resting)
        }
        places.endWaiting(with: ExchangeFailure(reason: .shutDown))
        for connection in resting { connection.channel.close(promise: nil) }
        let end = ContinuousClock.now + grace
        while state.withLock({ !$0.hosts.isEmpty }) || !places.isEmpty, .now < end, !Task.isCancelled {
            try? await Task.sleep(for: .milliseconds(5))
        }
        let left = state.withLock { $0.hosts.values.flatMap(\.connections.values) }
        for connection in left { connection.channel.close(promise: nil) }
        if grace > .zero { await ConnectionPool.untilClosed(left.map(\.channel)) }
    }

    /// Waits until the channels are closed. A server that never answers TLS's goodbye is not waited for longer than a second.
    private static func untilClosed(_ channels: [any Channel]) async {
        guard let loop = channels.first?.eventLoop else { return }
        let closed = loop.makePromise(of: Void.self)
        let timer = loop.scheduleTask(in: .seconds(1)) { closed.succeed() }
        EventLoopFuture.andAllComplete(channels.map(\.closeFuture), on: loop).whenComplete { _ in
            timer.cancel()
            closed.succeed()
        }
        try? await closed.futureResult.get()
    }

    /// Connections that are open now, used or resting.
    var openCount: Int { state.withLock { $0.hosts.values.reduce(0) { $0 + $1.connections.count } } }
}
