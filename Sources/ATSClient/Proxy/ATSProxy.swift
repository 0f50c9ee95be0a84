// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

public import AppTransportSecurity
import ConnectionAdmission
import NIOCore
import NIOHTTP1
import NIOPosix
public import ServiceLifecycle
import Synchronization
import TLSModel
public import TLSProbe
public import Vocabulary

/// A forward proxy that applies an app's policy to any program: CONNECT for TLS, absolute URLs for plain HTTP.
///
/// It never decrypts. A CONNECT is decided by the policy and by a probe of the very address that the tunnel then leads to, with the hello
/// of the system; of the handshake that passes, which is the program's, only certificates in the clear are judged. What is refused gets a 403 with
/// the reason. Run it as a `Service`.
public final class ATSProxy: Service {
    /// One decision about one request.
    public struct Event: Sendable {
        /// What became of a request.
        public enum Result: String, Sendable {
            /// It was passed on.
            case allowed
            /// The policy refused it.
            case refused
            /// Monitor mode: let through, and would have been refused.
            case wouldRefuse = "would-refuse"
            /// The server could not be reached or gave no answer.
            case failed
        }

        /// What became of the request.
        public let result: Result
        /// `CONNECT` or the method.
        public let method: String
        /// `host:port` or the URL.
        public let target: String
        /// Why, first cause first.
        public let causes: [Cause]
        /// What an app would get; nil if the request was passed on.
        public let error: URLLoadError?
        /// What the console of the system would show, as far as a source has it.
        public let console: [ConsoleLine]
    }

    /// Connections that were closed for want of room.
    public struct TurnedAway: Sendable, Equatable {
        /// Because there were ``Configuration/connectionLimit``: new ones, and idle ones in whose place a new one came.
        public let full: Int
        /// Because their address had ``Configuration/connectionsPerAddress``.
        public let addressFull: Int
        /// How often the system had no descriptor for another connection.
        public let withoutDescriptors: Int

        init(_ refusals: Admission.Refusals) {
            full = refusals.full &+ refusals.replaced
            addressFull = refusals.addressFull
            withoutDescriptors = refusals.exhausted
        }
    }

    /// A listening address or credentials that must not be used.
    public struct Misconfiguration: Error, Sendable, Equatable, CustomStringConvertible {
        public let description: String
    }

    package let configuration: Configuration
    let judge: ProxyJudge
    let client: ATSClient
    private let record: ProxyRecord
    private let onEvent: @Sendable (Event) -> Void
    private let onListening: @Sendable (_ address: String, _ port: Int) -> Void
    private let admission: Admission
    /// Nil if no password is asked for.
    let passwords: ProxyPasswords?

    /// - Parameters:
    ///   - onListening: called once, with the address and port that the proxy listens on.
    ///   - onTurnedAway: called at most once a second with the connections that were closed for want of room since the last call.
    ///   - onWrongPasswords: called at most once a second with how many passwords were wrong since the last call, and the last address.
    ///   - onEvent: called for every request after its decision.
    /// - Throws: ``Misconfiguration`` if it would listen beyond loopback without credentials.
    public init(
        policy: ATSPolicy, trust: TrustAnchors, fetcher: (any IntermediateFetcher)? = nil,
        configuration: Configuration = Configuration(),
        onListening: @escaping @Sendable (_ address: String, _ port: Int) -> Void = { _, _ in },
        onTurnedAway: @escaping @Sendable (TurnedAway) -> Void = { _ in },
        onWrongPasswords: @escaping @Sendable (_ count: Int, _ address: String) -> Void = { _, _ in },
        onEvent: @escaping @Sendable (Event) -> Void = { _ in }
    ) throws {
        guard let address = IPAddress(configuration.listenAddress) else {
            throw Misconfiguration(description: "'\(configuration.listenAddress)' is not an address to listen on")
        }
        let isRemote = AddressKind(address) != .loopback
        if isRemote, configuration.credentials?.isEmpty ?? true {
            throw Misconfiguration(
                description:
                    "\(configuration.listenAddress) can be reached from other machines, so the proxy requires passwords"
            )
        }
        self.configuration = configuration
        self.onListening = onListening
        self.onEvent = onEvent
        admission = Admission(limits: configuration.admission) { onTurnedAway(TurnedAway($0)) }
        passwords = configuration.credentials.map { ProxyPasswords($0, onWrong: onWrongPasswords) }
        let guardian = AddressGuardian(
            scope: isRemote ? .remote(allowsPrivate: configuration.allowsPrivate) : .anyServer)
        judge = ProxyJudge(
            policy: policy, chains: ChainBuilder(anchors: trust, fetcher: fetcher), configuration: configuration,
            guardian: guardian)
        record = ProxyRecord()
        var forward = ATSClient.Configuration()
        forward.connectTimeout = configuration.connectTimeout
        forward.totalTimeout = configuration.exchangeTimeout
        forward.restingConnections = 0
        forward.connectionsPerHost = .max
        // They have no place of their own among the connections that are counted.
        forward.parallelAttempts = 2
        forward.idleTimeout = configuration.idleTimeout
        forward.redirectLimit = nil
        forward.isMonitoring = configuration.isMonitoring
        forward.addressOverrides = configuration.addressOverrides
        forward.eventLoopGroup = configuration.eventLoopGroup
        forward.toleratesUncleanClose = true
        forward.forbids = { guardian.refusal(of: $0) }
        client = ATSClient(policy: policy, trust: trust, fetcher: fetcher, configuration: forward)
    }

    /// Serves until the task is cancelled or the service is shut down gracefully; then tunnels that are open are closed.
    public func run() async throws {
        let server = try await ServerBootstrap(group: configuration.eventLoopGroup)
            .serverChannelOption(.backlog, value: 1024)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .serverChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture { try self.admission.addGate(to: channel) }
            }
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            .childChannelOption(.maxMessagesPerRead, value: 4)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture { try self.accept(channel) }
            }
            .bind(host: configuration.listenAddress, port: configuration.port)
            .get()
        if let address = server.localAddress {
            judge.guardian.listen(on: address)
            onListening(address.ipAddress ?? configuration.listenAddress, address.port ?? configuration.port)
        }
        try await withTaskCancellationOrGracefulShutdownHandler {
            try await server.closeFuture.get()
        } onCancelOrGracefulShutdown: {
            server.close(promise: nil)
        }
        for channel in open.withLock({ Array($0.values) }) { channel.close(promise: nil) }
        await client.shutDown(grace: .seconds(1))
    }

    private let open = Mutex<[ObjectIdentifier: any Channel]>([:])

    private func accept(_ channel: any Channel) throws {
        let id = ObjectIdentifier(channel)
        open.withLock { $0[id] = channel }
        MovingDeadline.close(channel, after: TimeAmount(configuration.connectionLifetime))
        channel.closeFuture.whenComplete { _ in self.open.withLock { $0[id] = nil } }
        var limits = NIOHTTPDecoderLimitConfiguration()
        limits.maxHeaderFieldSize = min(configuration.headerLimit, limits.maxHeaderFieldSize)
        limits.maxHeaderListSize = configuration.headerLimit
        limits.maxHeaderFieldCount = configuration.headerCountLimit
        let decoder = ByteToMessageHandler(
            HTTPRequestDecoder(leftOverBytesStrategy: .forwardBytes, limitConfiguration: limits))
        var framing = HTTPResponseEncoder.Configuration()
        // The fields say how an answer is framed; the library would end answers to HEAD with an empty chunk.
        framing.automaticallySetFramingHeaders = false
        let encoder = HTTPResponseEncoder(configuration: framing)
        let front = ProxyFrontHandler(self, channel, decoder: decoder, encoder: encoder)
        try channel.pipeline.syncOperations.addHandlers([encoder, FirstByteHandler(front), decoder, front])
        try configuration.identity?().secure(channel.pipeline.syncOperations)
    }

    /// Takes a place for a connection to a server among those that are counted, for the client that causes it. A probe goes on when its
    /// client leaves, so a client that comes and goes would otherwise have any number of them.
    ///
    /// - Returns: gives the place back, to be called once; nil if there is none, which is counted and reported.
    func takePlace(for client: any Channel) -> (@Sendable () -> Void)? {
        let address = client.remoteAddress.flatMap { IPAddress($0) }
        let verdict = admission.admit(address)
        guard verdict == .admitted else {
            admission.refuse(verdict, on: client.eventLoop)
            return nil
        }
        return { self.admission.release(address) }
    }

    /// The place of a client's connection among those that are counted.
    func place(of client: any Channel) -> Admission.Place? { admission.place(of: client) }

    func note(_ event: Event, host: String, port: Int, isSecure: Bool) {
        record.add(event, host: host, port: port, isSecure: isSecure)
        onEvent(event)
    }

    /// Connections that are counted now; see ``Configuration/connectionLimit``.
    package var openConnections: Int { admission.open }

    /// What was seen so far, with the smallest dictionary that would have let all of it through.
    ///
    /// The dictionary is found by asking each host once more, so this takes time; at most `limit` for all.
    package func summary(within limit: Duration = .seconds(30)) async -> ProxySummary {
        await ProxySummary.make(of: record.hosts, judge: judge, within: limit)
    }
}
