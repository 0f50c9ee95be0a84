// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import NIOConcurrencyHelpers
import NIOCore

/// What connections are shared by: one policy is one client, so host, port and scheme are enough.
struct PoolKey: Hashable, Sendable {
    let isSecure: Bool
    let host: String
    let port: Int
    /// Set after a redirect from a public server, where private addresses must not be reached by one.
    var excludesPrivate = false
}

/// The connections of a client, for each host and port: idle ones of HTTP/1.1, shared ones of HTTP/2, and who waits for one.
///
/// Invariants: a connection of HTTP/1.1 is in `idle` or lent to exactly one exchange; the connections of a host (open and being opened) never
/// exceed the limit; nobody waits while something idle is there.
final class ConnectionPool: Sendable {
    typealias Open = @Sendable (PoolKey, NIODeadline?) async throws -> HTTPConnection

    private struct Waiter {
        let id: Int
        let continuation: CheckedContinuation<Lease, any Error>
    }

    /// A connection that was lent.
    struct Lease: Sendable {
        let connection: HTTPConnection
        /// Whether it had served a request before: its server may have closed it meanwhile.
        let isReused: Bool
    }

    private struct Shared {
        let connection: HTTPConnection
        var streams: Int
        /// When the last stream ended.
        var restsSince = NIODeadline.now()
        /// A timer runs that will look whether the connection is still needed.
        var isTimed = false
    }

    private struct Host {
        var idle: [HTTPConnection] = []
        var shared: [Shared] = []
        /// HTTP/2 connections that take no new streams and still have some.
        var draining: [Shared] = []
        var connections: [ObjectIdentifier: HTTPConnection] = [:]
        var opening = 0
        var waiters: CircularBuffer<Waiter> = []
        var speaksHTTP2 = false
        /// A connection to this host was made, so a failed attempt does not speak for all that wait.
        var wasReached = false

        var open: Int { connections.count }

        var isEmpty: Bool { connections.isEmpty && opening == 0 && waiters.isEmpty }
    }

    private struct State {
        var hosts: [PoolKey: Host] = [:]
        var nextWaiter = 0
        var isShutDown = false
        var drained: [CheckedContinuation<Void, Never>] = []
    }

    private let state = NIOLockedValueBox(State())
    private let limit: Int
    private let streamLimit: Int
    private let keepAlive: TimeAmount
    private let loop: any EventLoop
    private let open: Open

    /// - Parameter loop: for the timers of those who wait.
    init(limit: Int, streamLimit: Int, keepAlive: TimeAmount, loop: any EventLoop, open: @escaping Open) {
        self.loop = loop
        self.limit = max(1, limit)
        self.streamLimit = max(1, streamLimit)
        self.keepAlive = keepAlive
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
        switch state.withLockedValue({ next(for: key, &$0) }) {
        case .use(let lease): return lease
        case .shutDown: throw ExchangeFailure(reason: .shutDown)
        case .open: return Lease(connection: try await openForCaller(key, deadline), isReused: false)
        case .wait: return try await wait(for: key, until: deadline)
        }
    }

    private func next(for key: PoolKey, _ state: inout State) -> Step {
        if state.isShutDown { return .shutDown }
        if let lease = take(key, &state) { return .use(lease) }
        let host = state.hosts[key, default: Host()]
        let mayOpen = host.open + host.opening < limit && !(host.speaksHTTP2 && host.opening > 0)
        if mayOpen { state.hosts[key, default: Host()].opening += 1 }
        return mayOpen ? .open : .wait
    }

    private func take(_ key: PoolKey, _ state: inout State) -> Lease? {
        guard var host = state.hosts[key] else { return nil }
        defer { state.hosts[key] = host }
        if let index = host.shared.firstIndex(where: { $0.streams < streamLimit && $0.connection.channel.isActive }) {
            host.shared[index].streams += 1
            return Lease(connection: host.shared[index].connection, isReused: true)
        }
        while let connection = host.idle.popLast() {
            if connection.channel.isActive { return Lease(connection: connection, isReused: true) }
        }
        return nil
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
        let told = state.withLockedValue { state -> CircularBuffer<Waiter> in
            state.hosts[key]?.opening -= 1
            guard let host = state.hosts[key] else { return [] }
            // Who was cancelled says nothing about the host; another attempt is made for those who wait.
            if host.open + host.opening == 0, !(error is CancellationError) {
                state.hosts[key]?.waiters = []
                return host.waiters
            }
            guard asWaiters, let first = state.hosts[key]?.waiters.popFirst() else { return [] }
            return [first]
        }
        for waiter in told { waiter.continuation.resume(throwing: error) }
        openForWaiters(key)
        tidy(key)
    }

    private func wait(for key: PoolKey, until deadline: NIODeadline?) async throws -> Lease {
        let id = state.withLockedValue { state in
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
                let ready: Result<Lease, any Error>? = state.withLockedValue { state in
                    if Task.isCancelled { return .failure(CancellationError()) }
                    if state.isShutDown { return .failure(ExchangeFailure(reason: .shutDown)) }
                    if let lease = take(key, &state) { return .success(lease) }
                    state.hosts[key, default: Host()].waiters.append(Waiter(id: id, continuation: continuation))
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

    /// Out of the line; nil where it has been served.
    private func takeWaiter(_ id: Int, _ key: PoolKey) -> Waiter? {
        state.withLockedValue { state in
            let index = state.hosts[key]?.waiters.firstIndex { $0.id == id }
            return index.flatMap { state.hosts[key]?.waiters.remove(at: $0) }
        }
    }

    // MARK: Coming back

    /// Takes a new connection in, and serves those who wait with what it can carry.
    private func admit(_ connection: HTTPConnection, lent: Bool) {
        let key = connection.key
        connection.link.connect(free: { self.giveBack(connection) }, drain: { self.drain(connection) })
        let (waiters, isShutDown) = state.withLockedValue { state in
            var host = state.hosts[key, default: Host()]
            host.opening -= 1
            host.wasReached = true
            host.connections[ObjectIdentifier(connection)] = connection
            var served: [Waiter] = []
            if connection.isHTTP2 {
                host.speaksHTTP2 = true
                var streams = lent ? 1 : 0
                while streams < streamLimit, let waiter = host.waiters.popFirst() {
                    served.append(waiter)
                    streams += 1
                }
                host.shared.append(Shared(connection: connection, streams: streams))
            } else if !lent {
                if let waiter = host.waiters.popFirst() {
                    served.append(waiter)
                } else {
                    host.idle.append(connection)
                }
            }
            state.hosts[key] = host
            return (served, state.isShutDown)
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
        let (waiter, closes) = state.withLockedValue { state -> (Waiter?, Bool) in
            if state.isShutDown { return (nil, true) }
            guard state.hosts[connection.key] != nil else { return (nil, true) }
            if let waiter = state.hosts[connection.key]?.waiters.popFirst() { return (waiter, false) }
            state.hosts[connection.key]?.idle.append(connection)
            return (nil, false)
        }
        waiter?.continuation.resume(returning: Lease(connection: connection, isReused: true))
        if closes { connection.channel.close(promise: nil) }
    }

    /// A stream of an HTTP/2 connection is over.
    func endStream(of connection: HTTPConnection) {
        let key = connection.key
        let end = state.withLockedValue { state -> StreamEnd in
            if let index = state.hosts[key]?.draining.firstIndex(where: { $0.connection === connection }) {
                state.hosts[key]?.draining[index].streams -= 1
                return state.hosts[key]?.draining[index].streams == 0 ? .close : .goOn
            }
            guard let index = state.hosts[key]?.shared.firstIndex(where: { $0.connection === connection }) else {
                return .goOn
            }
            if let waiter = state.hosts[key]?.waiters.popFirst() { return .serve(waiter) }
            state.hosts[key]?.shared[index].streams -= 1
            guard state.hosts[key]?.shared[index].streams == 0 else { return .goOn }
            if state.isShutDown { return .close }
            state.hosts[key]?.shared[index].restsSince = .now()
            if state.hosts[key]?.shared[index].isTimed == true { return .goOn }
            state.hosts[key]?.shared[index].isTimed = true
            return .rest
        }
        switch end {
        case .goOn: break
        case .serve(let waiter): waiter.continuation.resume(returning: Lease(connection: connection, isReused: true))
        case .close: connection.channel.close(promise: nil)
        case .rest: timeRest(of: connection, until: .now() + keepAlive)
        }
    }

    /// What becomes of an HTTP/2 connection after one of its streams.
    private enum StreamEnd {
        case goOn
        case serve(Waiter)
        case close
        case rest
    }

    /// One timer for each connection, which goes with it: thousands of short streams leave no thousands of timers.
    private func timeRest(of connection: HTTPConnection, until deadline: NIODeadline) {
        let timer = connection.channel.eventLoop.scheduleTask(deadline: deadline) { self.closeIfUnused(connection) }
        connection.channel.closeFuture.whenComplete { _ in timer.cancel() }
    }

    private func closeIfUnused(_ connection: HTTPConnection) {
        let key = connection.key
        let now = NIODeadline.now()
        let (isUnused, again) = state.withLockedValue { state -> (Bool, NIODeadline?) in
            guard let index = state.hosts[key]?.shared.firstIndex(where: { $0.connection === connection }),
                let shared = state.hosts[key]?.shared[index]
            else { return (false, nil) }
            let end = shared.restsSince + keepAlive
            if shared.streams == 0, end > now { return (false, end) }
            state.hosts[key]?.shared[index].isTimed = false
            return (shared.streams == 0, nil)
        }
        if let again { timeRest(of: connection, until: again) }
        if isUnused { connection.channel.close(promise: nil) }
    }

    /// The server of an HTTP/2 connection takes no new streams: those that run may end, then it closes.
    func drain(_ connection: HTTPConnection) {
        let isUnused = state.withLockedValue { state in
            guard let index = state.hosts[connection.key]?.shared.firstIndex(where: { $0.connection === connection })
            else {
                return false
            }
            guard let drained = state.hosts[connection.key]?.shared.remove(at: index) else { return false }
            if drained.streams > 0 { state.hosts[connection.key]?.draining.append(drained) }
            return drained.streams == 0
        }
        if isUnused { connection.channel.close(promise: nil) }
    }

    /// A connection is closed.
    private func forget(_ connection: HTTPConnection) {
        let key = connection.key
        state.withLockedValue { state in
            state.hosts[key]?.connections[ObjectIdentifier(connection)] = nil
            state.hosts[key]?.idle.removeAll { $0 === connection }
            state.hosts[key]?.shared.removeAll { $0.connection === connection }
            state.hosts[key]?.draining.removeAll { $0.connection === connection }
        }
        openForWaiters(key)
        tidy(key)
    }

    /// Opens a connection for those who wait, where the limit allows one more. Before the first success, attempts that run are waited for:
    /// they tell whether the host can be reached at all.
    private func openForWaiters(_ key: PoolKey) {
        let mayOpen = state.withLockedValue { state in
            guard let host = state.hosts[key], !host.waiters.isEmpty, host.open + host.opening < limit,
                host.opening < host.waiters.count, host.opening == 0 || host.wasReached && !host.speaksHTTP2
            else { return false }
            state.hosts[key]?.opening += 1
            return true
        }
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
        let waiting = state.withLockedValue { state in
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
        let (idle, waiters) = state.withLockedValue { state in
            state.isShutDown = true
            var idle: [HTTPConnection] = []
            var waiters: [Waiter] = []
            for key in state.hosts.keys {
                idle += state.hosts[key]?.idle ?? []
                idle += state.hosts[key]?.shared.filter { $0.streams == 0 }.map(\.connection) ?? []
                waiters += state.hosts[key]?.waiters ?? []
                state.hosts[key]?.idle = []
                state.hosts[key]?.waiters = []
            }
            return (idle, waiters)
        }
        for waiter in waiters { waiter.continuation.resume(throwing: ExchangeFailure(reason: .shutDown)) }
        for connection in idle { connection.channel.close(promise: nil) }
        if grace > .zero { await letDrain(grace) }
        let left = state.withLockedValue { $0.hosts.values.flatMap { Array($0.connections.values) } }
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
            let isDrained = state.withLockedValue { state in
                if state.hosts.allSatisfy({ $0.value.isEmpty }) { return true }
                state.drained.append(continuation)
                return false
            }
            if isDrained { continuation.resume() }
        }
    }

    private func releaseDrained() {
        let waiting = state.withLockedValue { state in
            defer { state.drained = [] }
            return state.drained
        }
        for continuation in waiting { continuation.resume() }
    }

    /// Connections that are open now: lent, idle and shared.
    var openCount: Int { state.withLockedValue { $0.hosts.values.reduce(0) { $0 + $1.open } } }
}
