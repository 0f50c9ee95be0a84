// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import NIOCore
import Synchronization
import TLSProbe

/// What connections are shared by: one policy is one client, so host, port and scheme are enough.
struct PoolKey: Hashable, Sendable {
    let isSecure: Bool
    let host: String
    let port: Int
    /// The addresses that may be connected to: after a redirect not all.
    var scope = FetchScope.named
    /// Set if the connection is for one request of one caller.
    var request: Int?
}

/// The connections of a client, for each host and port: idle ones of HTTP/1.1, shared ones of HTTP/2, and who waits for one.
///
/// Invariants: a connection of HTTP/1.1 is idle or lent to exactly one exchange; the connections of a host (open and being opened) never
/// exceed the limit; nobody waits while something idle is there. Who gets which is decided in ``PoolHost``.
final class ConnectionPool: Sendable {
    typealias Open = @Sendable (PoolKey, NIODeadline?) async throws -> HTTPConnection

    private typealias Waiter = PoolHost.Waiter

    /// A connection that was lent.
    struct Lease: Sendable {
        let connection: HTTPConnection
        /// Whether it had served a request before: its server may have closed it meanwhile.
        let isReused: Bool
    }

    private struct State {
        var hosts: [PoolKey: PoolHost] = [:]
        var nextWaiter = 0
        var isShutDown = false
        var drained: [CheckedContinuation<Void, Never>] = []

        /// Connections that carry nothing.
        var resting: Int { hosts.values.reduce(0) { $0 + $1.resting } }
    }

    private let state = Mutex(State())
    private let limit: Int
    private let streamLimit: Int
    private let keepAlive: TimeAmount
    private let restingLimit: Int
    private let loop: any EventLoop
    private let open: Open

    /// - Parameter loop: for the timers of those who wait.
    init(
        limit: Int, streamLimit: Int, keepAlive: TimeAmount, restingLimit: Int = 256, loop: any EventLoop,
        open: @escaping Open
    ) {
        self.loop = loop
        self.limit = max(1, limit)
        self.streamLimit = max(1, streamLimit)
        self.keepAlive = keepAlive
        self.restingLimit = max(0, restingLimit)
        self.open = open
    }

    // MARK: Lending

    private enum Step {
        case use(Lease)
        case open
        case wait
        case shutDown
    }

    /// Lends a connection: an idle one, a share of an HTTP/2 one, a new one, or, at the limit, whichever is free first.
    ///
    /// - Throws: `ExchangeFailure` with reason `timeout` where the deadline is over before.
    func lease(_ key: PoolKey, deadline: NIODeadline?) async throws -> Lease {
        if let deadline, deadline <= .now() { throw ExchangeFailure(reason: .timeout) }
        switch state.withLock({ next(for: key, &$0) }) {
        case .use(let lease): return lease
        case .shutDown: throw ExchangeFailure(reason: .shutDown)
        case .open: return Lease(connection: try await openForCaller(key, deadline), isReused: false)
        case .wait: return try await wait(for: key, until: deadline)
        }
    }

    private func next(for key: PoolKey, _ state: inout State) -> Step {
        if state.isShutDown { return .shutDown }
        if let lease = state.hosts[key]?.take(streamLimit: streamLimit) { return .use(lease) }
        return state.hosts[key, default: PoolHost()].beginOpening(limit: limit) ? .open : .wait
    }

    private func openForCaller(_ key: PoolKey, _ deadline: NIODeadline?) async throws -> HTTPConnection {
        do {
            let connection = try await open(key, deadline)
            admit(connection, lent: true)
            return connection
        } catch {
            // Cancelled, or out of its own time: that says nothing about the host.
            let isOwn = Task.isCancelled || deadline.map { $0 <= .now() } ?? false
            openingFailed(key, isOwn ? CancellationError() : error, asWaiters: false)
            throw error
        }
    }

    /// After an attempt that failed: those who wait get the same error where nothing else could serve them, or they would wait for nobody.
    ///
    /// - Parameter asWaiters: the attempt was made for the first in the line, so it has the error in any case.
    private func openingFailed(_ key: PoolKey, _ error: any Error, asWaiters: Bool) {
        let told = state.withLock { $0.hosts[key]?.openingFailed(error, asWaiters: asWaiters) ?? [] }
        for waiter in told { waiter.continuation.resume(throwing: error) }
        openForWaiters(key)
        tidy(key)
    }

    private func wait(for key: PoolKey, until deadline: NIODeadline?) async throws -> Lease {
        let id = state.withLock { state in
            state.nextWaiter += 1
            return state.nextWaiter
        }
        let timer = deadline.map { deadline in
            loop.scheduleTask(deadline: deadline) {
                self.takeWaiter(id, key)?.continuation.resume(throwing: ExchangeFailure(reason: .timeout))
            }
        }
        defer { timer?.cancel() }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let ready: Result<Lease, any Error>? = state.withLock { state in
                    if Task.isCancelled { return .failure(CancellationError()) }
                    if state.isShutDown { return .failure(ExchangeFailure(reason: .shutDown)) }
                    if let lease = state.hosts[key]?.take(streamLimit: streamLimit) { return .success(lease) }
                    state.hosts[key, default: PoolHost()].wait(Waiter(id: id, continuation: continuation))
                    return nil
                }
                if let ready {
                    continuation.resume(with: ready)
                } else {
                    openForWaiters(key)
                }
            }
        } onCancel: {
            takeWaiter(id, key)?.continuation.resume(throwing: CancellationError())
        }
    }

    /// Out of the line; nil if it has been served.
    private func takeWaiter(_ id: Int, _ key: PoolKey) -> Waiter? {
        state.withLock { $0.hosts[key]?.removeWaiter(id) }
    }

    // MARK: Coming back

    /// Takes a new connection in, and serves those who wait with what it can carry.
    private func admit(_ connection: HTTPConnection, lent: Bool) {
        let key = connection.key
        connection.link.connect(free: { self.giveBack(connection) }, drain: { self.drain(connection) })
        let (waiters, isShutDown) = state.withLock { state in
            (
                state.hosts[key, default: PoolHost()].admit(connection, lent: lent, streamLimit: streamLimit),
                state.isShutDown
            )
        }
        connection.channel.closeFuture.whenComplete { _ in
            connection.link.disconnect()
            self.forget(connection)
        }
        for waiter in waiters { waiter.continuation.resume(returning: Lease(connection: connection, isReused: false)) }
        if isShutDown, !lent { connection.channel.close(promise: nil) }
        openForWaiters(key)
    }

    /// An exchange on an HTTP/1.1 connection ended well: the next one in the line has it, or it rests.
    func giveBack(_ connection: HTTPConnection) {
        let (waiter, closes) = state.withLock { state -> (Waiter?, Bool) in
            if state.isShutDown || state.hosts[connection.key] == nil { return (nil, true) }
            if let waiter = state.hosts[connection.key]?.nextWaiter() { return (waiter, false) }
            if state.resting >= restingLimit { return (nil, true) }
            state.hosts[connection.key]?.rest(connection)
            return (nil, false)
        }
        waiter?.continuation.resume(returning: Lease(connection: connection, isReused: true))
        if closes { connection.channel.close(promise: nil) }
    }

    /// A stream of an HTTP/2 connection is over.
    func endStream(of connection: HTTPConnection) {
        let key = connection.key
        let end = state.withLock { state -> PoolHost.StreamEnd in
            let isShutDown = state.isShutDown
            let mustClose = isShutDown || state.resting >= restingLimit
            return state.hosts[key]?.endStream(of: connection, closesUnused: mustClose) ?? .goOn
        }
        switch end {
        case .goOn: break
        case .serve(let waiter): waiter.continuation.resume(returning: Lease(connection: connection, isReused: true))
        case .close: connection.channel.close(promise: nil)
        case .rest: timeRest(of: connection, until: .now() + keepAlive)
        }
    }

    /// One timer for each connection, which goes with it: thousands of short streams leave no thousands of timers.
    private func timeRest(of connection: HTTPConnection, until deadline: NIODeadline) {
        let timer = connection.channel.eventLoop.scheduleTask(deadline: deadline) { self.closeIfUnused(connection) }
        connection.channel.closeFuture.whenComplete { _ in timer.cancel() }
    }

    private func closeIfUnused(_ connection: HTTPConnection) {
        let end = state.withLock { state -> PoolHost.RestEnd in
            state.hosts[connection.key]?.endRest(of: connection, keepAlive: keepAlive, at: .now()) ?? .inUse
        }
        switch end {
        case .inUse: break
        case .unused: connection.channel.close(promise: nil)
        case .later(let deadline): timeRest(of: connection, until: deadline)
        }
    }

    /// The server of an HTTP/2 connection takes no new streams: those that run may end, then it closes.
    func drain(_ connection: HTTPConnection) {
        let isUnused = state.withLock { $0.hosts[connection.key]?.drain(connection) ?? false }
        if isUnused { connection.channel.close(promise: nil) }
    }

    /// A connection is closed.
    private func forget(_ connection: HTTPConnection) {
        let key = connection.key
        state.withLock { $0.hosts[key]?.forget(connection) }
        openForWaiters(key)
        tidy(key)
    }

    /// Opens a connection for those who wait, where the limit allows one more.
    private func openForWaiters(_ key: PoolKey) {
        let mayOpen = state.withLock { $0.hosts[key]?.beginOpeningForWaiters(limit: limit) ?? false }
        guard mayOpen else { return }
        Task {
            do {
                admit(try await open(key, nil), lent: false)
            } catch {
                openingFailed(key, error, asWaiters: true)
            }
        }
    }

    private func tidy(_ key: PoolKey) {
        let waiting = state.withLock { state in
            if state.hosts[key]?.isEmpty == true { state.hosts[key] = nil }
            guard state.isShutDown, state.hosts.isEmpty else { return [CheckedContinuation<Void, Never>]() }
            defer { state.drained = [] }
            return state.drained
        }
        for continuation in waiting { continuation.resume() }
    }

    // MARK: The end

    /// Takes no new requests, closes what is idle, and gives what runs this long to end.
    func shutDown(grace: Duration) async {
        let (idle, waiters) = state.withLock { state in
            state.isShutDown = true
            var idle: [HTTPConnection] = []
            var waiters: [Waiter] = []
            for key in state.hosts.keys {
                guard let ended = state.hosts[key]?.shutDown() else { continue }
                idle += ended.unused
                waiters += ended.waiters
            }
            return (idle, waiters)
        }
        for waiter in waiters { waiter.continuation.resume(throwing: ExchangeFailure(reason: .shutDown)) }
        for connection in idle { connection.channel.close(promise: nil) }
        if grace > .zero { await letDrain(grace) }
        let left = state.withLock { $0.hosts.values.flatMap { Array($0.connections.values) } }
        for connection in left { connection.channel.close(promise: nil) }
        if grace > .zero { await ConnectionPool.untilClosed(left.map(\.channel)) }
    }

    private func letDrain(_ grace: Duration) async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await self.untilDrained() }
            group.addTask { try? await Task.sleep(for: grace) }
            await group.next()
            self.releaseDrained()
            group.cancelAll()
        }
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

    private func untilDrained() async {
        await withCheckedContinuation { continuation in
            let isDrained = state.withLock { state in
                if state.hosts.allSatisfy({ $0.value.isEmpty }) { return true }
                state.drained.append(continuation)
                return false
            }
            if isDrained { continuation.resume() }
        }
    }

    private func releaseDrained() {
        let waiting = state.withLock { state in
            defer { state.drained = [] }
            return state.drained
        }
        for continuation in waiting { continuation.resume() }
    }

    /// Connections that are open now: lent, idle and shared.
    var openCount: Int { state.withLock { $0.hosts.values.reduce(0) { $0 + $1.connections.count } } }
}
