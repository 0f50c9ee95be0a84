// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
package import FoundationEssentials
import NIOCore
import NIOHTTP1
import NIOHTTP2
import NIOPosix
import NIOSSL
package import TLSModel
package import TLSProbe
import Vocabulary

/// Opens connections: name, TCP, TLS with the judge inside the handshake, and HTTP/1.1 or HTTP/2 on top.
struct Connector: Sendable {
    let configuration: ATSClient.Configuration
    let material: ConnectionMaterial

    struct Attempt: Sendable {
        let key: PoolKey
        /// Nil for plain HTTP.
        let tls: (offer: TLSOffer, judge: HandshakeJudge)?
        /// When the whole load must be over.
        let deadline: NIODeadline?
        /// Monitor mode: why the connection would have been refused.
        var wouldRefuse: ATSLoadError?
    }

    /// Connects to the host of the key, with the addresses one after another, 250 ms apart (RFC 8305 in short).
    ///
    /// - Throws: ``ConnectFailure``, ``ForbiddenAddress``, ``RefusedHandshake``, `CancellationError`.
    func establish(_ attempt: Attempt) async throws -> HTTPConnection {
        let addresses = try await usableAddresses(of: attempt.key, timeout: timeLimit(until: attempt.deadline))
        guard let first = addresses.first else { throw ConnectFailure(.nameNotFound("it has no address")) }
        let opening = addresses.count == 1 ? try await open(first, attempt) : try await race(addresses, attempt)
        do {
            return try await withTaskCancellationHandler {
                try await opening.handshake.get()
            } onCancel: {
                opening.channel.close(promise: nil)
            }
        } catch var failure as ConnectFailure {
            failure.wasConnected = true
            throw failure
        }
    }

    /// The addresses that may be connected to.
    ///
    /// - Throws: ``ConnectFailure``, ``ForbiddenAddress``.
    func usableAddresses(of key: PoolKey, timeout: TimeAmount) async throws -> [SocketAddress] {
        let found = try await addresses(of: key, timeout: timeout)
        var addresses = found.filter { key.scope.allows($0, of: configuration.kind($0)) }
        if addresses.isEmpty, !found.isEmpty { throw ConnectFailure(.unreachable(FetchScope.refusal)) }
        let forbidden = addresses.lazy.compactMap(configuration.forbids).first
        addresses = addresses.filter { configuration.forbids($0) == nil }
        if addresses.isEmpty, let forbidden { throw ForbiddenAddress(reason: forbidden) }
        return addresses
    }

    private func addresses(of key: PoolKey, timeout: TimeAmount) async throws -> [SocketAddress] {
        if let pinned = configuration.pinnedAddress, pinned.port == key.port, pinned.host == key.host {
            return pinned.places
        }
        return try await material.resolver.addresses(
            of: key.host, port: key.port, timeout: .nanoseconds(timeout.nanoseconds))
    }

    private struct Opening: Sendable {
        let channel: any Channel
        let handshake: EventLoopFuture<HTTPConnection>
    }

    private func race(_ addresses: [SocketAddress], _ attempt: Attempt) async throws -> Opening {
        try await withThrowingTaskGroup(of: Opening?.self) { group in
            var rest = addresses[...]
            var running = 0
            var failure: any Error = ConnectFailure(.timeout)
            while true {
                if running < max(1, configuration.parallelAttempts), let address = rest.popFirst() {
                    running += 1
                    group.addTask { try await open(address, attempt) }
                    if !rest.isEmpty {
                        group.addTask {
                            try? await Task.sleep(for: .milliseconds(250))
                            return nil
                        }
                    }
                }
                do {
                    // Nil: a quarter of a second went by, so the next address has its turn beside those that run.
                    guard let result = try await group.next() else { throw failure }
                    guard let winner = result else { continue }
                    group.cancelAll()
                    while let late = try? await group.next() { late?.channel.close(promise: nil) }
                    return winner
                } catch {
                    failure = error
                    running -= 1
                    if running == 0, rest.isEmpty { throw failure }
                }
            }
        }
    }

    /// Opens TCP to one address; the handshake goes on behind.
    private func open(_ address: SocketAddress, _ attempt: Attempt) async throws -> Opening {
        let loop = configuration.eventLoopGroup.any()
        let promise = loop.makePromise(of: HTTPConnection.self)
        let connectTimeout = timeLimit(until: attempt.deadline)
        let kind = configuration.kind(address)
        let bootstrap = ClientBootstrap(group: loop)
            .connectTimeout(connectTimeout)
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try prepare(channel, attempt, connectTimeout, kind, promise)
                }
            }
        do {
            let channel = try await bootstrap.connect(to: address).get()
            if attempt.tls == nil {
                channel.eventLoop.execute {
                    promise.completeWith(
                        Result {
                            HTTPConnection(channel, try http1(channel), attempt, nil, kind, configuration)
                        }
                    )
                }
            }
            return Opening(channel: channel, handshake: promise.futureResult)
        } catch {
            promise.fail(error)
            throw ConnectFailure(ConnectionFailure(reading: error) ?? .closed)
        }
    }

    /// Puts the handlers of the handshake in place. On the event loop.
    private func prepare(
        _ channel: any Channel, _ attempt: Attempt, _ timeLimit: TimeAmount, _ kind: AddressKind,
        _ promise: EventLoopPromise<HTTPConnection>
    ) throws {
        guard let (offer, judge) = attempt.tls else { return }
        let state = HandshakeState()
        let bound = NIOLoopBound(state, eventLoop: channel.eventLoop)
        let isName = IPAddress(attempt.key.host) == nil
        let tls = try NIOSSLClientHandler(
            context: try offer.context(from: material.contexts),
            serverHostname: isName ? Connector.serverName(attempt.key.host) : nil,
            customVerificationCallback: { certificates, promise in
                Connector.verify(certificates, bound, judge, peer: kind, timeLimit, promise)
            }
        )
        let end = HandshakeEndHandler(state, timeLimit: timeLimit, promise: promise) { negotiated, channel in
            let wire = negotiated == "h2" ? try http2(channel) : try http1(channel)
            return HTTPConnection(channel, wire, attempt, state.judgement, kind, configuration)
        }
        try channel.pipeline.syncOperations.addHandlers([FlightWatchHandler(state), tls, end])
    }

    /// SNI has no trailing dot (RFC 6066 section 3).
    private static func serverName(_ host: String) -> String { host.hasSuffix(".") ? String(host.dropLast()) : host }

    /// The verification callback: asks the judge. On the event loop.
    private static func verify(
        _ certificates: [NIOSSLCertificate], _ state: NIOLoopBound<HandshakeState>, _ judge: HandshakeJudge,
        peer: AddressKind, _ timeLimit: TimeAmount, _ promise: EventLoopPromise<NIOSSLVerificationResult>
    ) {
        let presented = certificates.map { (try? $0.toDERBytes()) ?? [] }
        // The library checks the signature over the handshake itself and never completes one without it.
        guard let handshake = state.value.flight.observation(certificates: presented, possession: .proven) else {
            return promise.succeed(.failed)
        }
        promise.completeWithTask {
            // The handshake is given up after that time; so is a fetch of an intermediate.
            let judgement = await TargetDeadline.within(.nanoseconds(timeLimit.nanoseconds)) {
                await judge.judge(handshake, peer: peer)
            }
            return try await state.eventLoop.submit {
                state.value.judgement = judgement
                return judgement.passes ? NIOSSLVerificationResult.certificateVerified : .failed
            }.get()
        }
    }

    // MARK: HTTP

    private func http1(_ channel: any Channel) throws -> HTTPConnection.Wire {
        var limits = NIOHTTPDecoderLimitConfiguration()
        limits.maxHeaderFieldSize = min(configuration.headerLimit, limits.maxHeaderFieldSize)
        limits.maxHeaderListSize = configuration.headerLimit
        limits.maxHeaderFieldCount = configuration.headerCountLimit
        let handler = ExchangeHandler(
            isStream: false, keepAlive: TimeAmount(configuration.keepAlive), loop: channel.eventLoop)
        try channel.pipeline.syncOperations.addHandlers([
            RequestFraming.encoder(),
            ByteToMessageHandler(
                HTTPResponseDecoder(
                    leftOverBytesStrategy: .dropBytes, informationalResponseStrategy: .forward,
                    limitConfiguration: limits)),
            handler,
        ])
        return .http1(NIOLoopBound(handler, eventLoop: channel.eventLoop))
    }

    private func http2(_ channel: any Channel) throws -> HTTPConnection.Wire {
        var http2 = NIOHTTP2Handler.Configuration()
        http2.connection.initialSettings = [
            HTTP2Setting(parameter: .enablePush, value: 0),
            HTTP2Setting(parameter: .maxHeaderListSize, value: configuration.headerLimit),
            HTTP2Setting(parameter: .initialWindowSize, value: Connector.streamWindow),
        ]
        http2.connection.targetWindowSize = Connector.connectionWindow
        http2.stream.targetWindowSize = Connector.streamWindow
        let handler = NIOHTTP2Handler(
            mode: .client, eventLoop: channel.eventLoop, connectionConfiguration: http2.connection,
            streamConfiguration: http2.stream
        ) { stream in
            // Push is switched off; a server that pushes all the same is not listened to.
            stream.close()
        }
        let control = HTTP2ControlHandler(keepAlive: TimeAmount(configuration.keepAlive))
        try channel.pipeline.syncOperations.addHandlers([FrameBudgetHandler(), handler, control])
        return .http2(try handler.syncMultiplexer(), NIOLoopBound(control, eventLoop: channel.eventLoop))
    }

    /// Bytes that a server may send ahead on one stream, and on all of a connection.
    private static let streamWindow = 512 * 1024
    private static let connectionWindow = 4 * 1024 * 1024
}

/// What clients may share that differ in policy, pinned address and timeouts alone: TLS contexts, names, and the chains that were judged.
package struct ConnectionMaterial: Sendable {
    let contexts = TLSOffer.Contexts(capacity: 64)
    /// What is known about chains; a caller that saw one before the client does may have it remembered here.
    package let chains: RememberingChains

    /// Where names are looked up, with the overrides of all clients that share it: a client's own configuration adds none.
    let resolver: NameResolver

    package init(chains: RememberingChains, resolver: NameResolver) {
        self.chains = chains
        self.resolver = resolver
    }
}

extension NameResolver {
    /// Every address of the host, for callers that throw.
    ///
    /// - Throws: ``ConnectFailure`` if there is none, `CancellationError` where the task was cancelled meanwhile.
    func addresses(of host: String, port: Int, timeout: Duration) async throws -> [SocketAddress] {
        switch await resolve(host: host, port: port, timeout: timeout) {
        case .addresses(let found): return found
        case .failed(let failure):
            try Task.checkCancellation()
            throw ConnectFailure(failure)
        }
    }
}

/// Remembers the facts of chains that were seen, because one server shows the same chain on every connection.
///
/// Only chains that reached an anchor are kept, and only used while every certificate on them is valid: dates are still judged at every use. At
/// most `capacity` chains.
package final class RememberingChains: Sendable {
    private let builder: ChainBuilder
    private let kept = BoundedCache<PresentedChain, ChainFacts>(capacity: RememberingChains.capacity)
    static let capacity = 256

    package init(_ builder: ChainBuilder) { self.builder = builder }

    /// The facts of a chain: remembered, or built.
    package func facts(of presented: [[UInt8]], at instant: Date, fetchingWithin scope: FetchScope) async -> ChainFacts
    {
        let chain = PresentedChain(presented)
        if let facts = kept[chain], facts.judged.allSatisfy({ $0.isValid(at: instant) }) { return facts }
        let facts = await builder.build(presented: presented, at: instant, fetchingWithin: scope)
        if case .anchored = facts.path { kept.keep(facts, for: chain) }
        return facts
    }
}
