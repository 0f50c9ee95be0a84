// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import NIOCore
import Synchronization
import TLSProbe

/// Connections to one host that may serve the same request.
struct PoolKey: Hashable, Sendable {
    let isSecure: Bool
    let host: String
    let port: Int
    /// The addresses that may be connected to: after a redirect not all.
    var scope = FetchScope.named
    /// Set if the connection is for one request of one caller.
    var request: Int?
}

/// A limited number of connections for each host. A connection carries one exchange at a time, HTTP/1.1 or HTTP/2, and rests between two.
///
/// A load takes a place, then a connection that rests or a new one. The place is free again when the connection rests or is closed.
final class ConnectionPool: Sendable {
    typealias Open = @Sendable (PoolKey, NIODeadline?) async throws -> HTTPConnection

    private struct Waiter {
        let id: Int
        let continuation: CheckedContinuation<Void, any Error>
    }

    private struct Host {
        /// Every connection that is not closed.
        var connections: [ObjectIdentifier: HTTPConnection] = [:]
        var resting: [HTTPConnection] = []
        /// Places that are taken: connections that are opened, used or about to close.
        var taken = 0
        var waiters: CircularBuffer<Waiter> = []

        var isEmpty: Bool { connections.isEmpty && taken == 0 && waiters.isEmpty }

        mutating func takePlace(limit: Int) -> Bool {
            guard taken < limit, waiters.isEmpty else { return false }
            taken += 1
            return true
        }

        /// One that is closed already stays until its end is reported.
        mutating func takeResting() -> HTTPConnection? {
            resting.lastIndex { $0.channel.isActive }.map { resting.remove(at: $0) }
        }

        /// Gives a place to the first in the line, who is returned, or frees it.
        mutating func leavePlace() -> Waiter? {
            if let waiter = waiters.popFirst() { return waiter }
            taken -= 1
            return nil
        }
    }

    private struct State {
        var hosts: [PoolKey: Host] = [:]
        var lastWaiter = 0
        var isShutDown = false

        mutating func tidy(_ key: PoolKey) { if hosts[key]?.isEmpty == true { hosts[key] = nil } }
    }

    private let state = Mutex(State())
    private let limit: Int
    private let restingLimit: Int
    private let loop: any EventLoop
    private let open: Open

    /// - Parameters:
    ///   - limit: connections to one host.
    ///   - restingLimit: connections without an exchange, of all hosts together.
    ///   - loop: for the timers of those who wait.
    init(limit: Int, restingLimit: Int, loop: any EventLoop, open: @escaping Open) {
        self.limit = max(1, limit)
        self.restingLimit = max(0, restingLimit)
        self.loop = loop
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
        if let deadline, deadline <= .now() { throw ExchangeFailure(reason: .timeout) }
        if try !takePlace(key) { try await waitForPlace(key, until: deadline) }
        if let connection = state.withLock({ $0.hosts[key]?.takeResting() }) {
            return (connection, true)
        }
        do {
            let connection = try await open(key, deadline)
            admit(connection)
            return (connection, false)
        } catch {
            // Cancelled, or out of its own time: that says nothing about the host.
            let isOwn = Task.isCancelled || deadline.map { $0 <= .now() } ?? false
            openingFailed(key, error, isOwn: isOwn)
            throw error
        }
    }

    private func takePlace(_ key: PoolKey) throws -> Bool {
        try state.withLock { state in
            if state.isShutDown { throw ExchangeFailure(reason: .shutDown) }
            return state.hosts[key, default: Host()].takePlace(limit: limit)
        }
    }

    private func waitForPlace(_ key: PoolKey, until deadline: NIODeadline?) async throws {
        let id = state.withLock { state in
            state.lastWaiter += 1
            return state.lastWaiter
        }
        let timer = deadline.map { deadline in
            loop.scheduleTask(deadline: deadline) { self.endWait(id, key, ExchangeFailure(reason: .timeout)) }
        }
        defer { timer?.cancel() }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                let ready: Result<Void, any Error>? = state.withLock { state in
                    if Task.isCancelled { return .failure(CancellationError()) }
                    if state.isShutDown { return .failure(ExchangeFailure(reason: .shutDown)) }
                    if state.hosts[key, default: Host()].takePlace(limit: limit) { return .success(()) }
                    state.hosts[key]?.waiters.append(Waiter(id: id, continuation: continuation))
                    return nil
                }
                if let ready { continuation.resume(with: ready) }
            }
        } onCancel: {
            endWait(id, key, CancellationError())
        }
    }

    /// Ends the wait of one who has no place yet.
    private func endWait(_ id: Int, _ key: PoolKey, _ error: any Error) {
        let waiter = state.withLock { state -> Waiter? in
            guard let index = state.hosts[key]?.waiters.firstIndex(where: { $0.id == id }) else { return nil }
            defer { state.tidy(key) }
            return state.hosts[key]?.waiters.remove(at: index)
        }
        waiter?.continuation.resume(throwing: error)
    }

    /// Those who wait get the same error where the host was not reached at all: they would only find the same, one after another.
    private func openingFailed(_ key: PoolKey, _ error: any Error, isOwn: Bool) {
        let (told, next) = state.withLock { state -> (CircularBuffer<Waiter>, Waiter?) in
            guard var host = state.hosts[key] else { return ([], nil) }
            var told: CircularBuffer<Waiter> = []
            if !isOwn, host.connections.isEmpty { swap(&told, &host.waiters) }
            let next = host.leavePlace()
            state.hosts[key] = host
            state.tidy(key)
            return (told, next)
        }
        for waiter in told { waiter.continuation.resume(throwing: error) }
        next?.continuation.resume()
    }

    // MARK: Coming back

    private func admit(_ connection: HTTPConnection) {
        state.withLock {
            $0.hosts[connection.key, default: Host()].connections[ObjectIdentifier(connection)] = connection
        }
        connection.channel.closeFuture.whenComplete { _ in self.closed(connection) }
    }

    /// An exchange is over: the connection rests, or closes.
    func giveBack(_ connection: HTTPConnection, canBeReused: Bool) {
        let (rests, next) = state.withLock { state -> (Bool, Waiter?) in
            let resting = state.hosts.values.reduce(0) { $0 + $1.resting.count }
            guard canBeReused, !state.isShutDown, resting < restingLimit, var host = state.hosts[connection.key],
                host.connections[ObjectIdentifier(connection)] != nil
            else { return (false, nil) }
            host.resting.append(connection)
            let next = host.leavePlace()
            state.hosts[connection.key] = host
            return (true, next)
        }
        next?.continuation.resume()
        if !rests { connection.channel.close(promise: nil) }
    }

    private func closed(_ connection: HTTPConnection) {
        let next = state.withLock { state -> Waiter? in
            guard var host = state.hosts[connection.key] else { return nil }
            host.connections[ObjectIdentifier(connection)] = nil
            var next: Waiter?
            if let index = host.resting.firstIndex(where: { $0 === connection }) {
                host.resting.remove(at: index)
            } else {
                next = host.leavePlace()
            }
            state.hosts[connection.key] = host
            state.tidy(connection.key)
            return next
        }
        next?.continuation.resume()
    }

    // MARK: The end

    /// Takes no new requests, closes what rests, and gives what runs this long to end.
    func shutDown(grace: Duration) async {
        let (resting, waiters) = state.withLock { state in
            state.isShutDown = true
            let ended = (state.hosts.values.flatMap(\.resting), state.hosts.values.flatMap(\.waiters))
            for key in Array(state.hosts.keys) { state.hosts[key]?.waiters = [] }
            return ended
        }
        for waiter in waiters { waiter.continuation.resume(throwing: ExchangeFailure(reason: .shutDown)) }
        for connection in resting { connection.channel.close(promise: nil) }
        let end = ContinuousClock.now + grace
        while state.withLock({ !$0.hosts.isEmpty }), .now < end, !Task.isCancelled {
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
