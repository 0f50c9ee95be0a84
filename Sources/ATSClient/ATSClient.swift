// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

public import AppTransportSecurity
public import HTTPTypes
import NIOCore
import NIOHTTP1
public import ServiceLifecycle
import TLSModel
public import TLSProbe
import Vocabulary

/// An HTTP client that refuses what an app's ATS dictionary refuses, before a byte of the request is sent.
///
///     let policy = ATSPolicy(dictionary: ATSDictionary(nil), profile: .standard)
///     let client = ATSClient(policy: policy, trust: try .system())
///     let response = try await client.execute(HTTPRequest(method: .get, url: "https://api.example.com/"))
///     let body = try await response.body.collect(upTo: 1 << 20)
///     await client.shutDown()
///
/// Every hop of a redirect is decided on its own. Connections are shared between the requests of one client, which has one policy. Run it as a
/// `Service`, or call ``shutDown(grace:)`` in the end.
public final class ATSClient: Sendable {
    package let policy: ATSPolicy
    package let configuration: Configuration
    let connector: Connector
    let pool: ConnectionPool

    /// - Parameters:
    ///   - trust: the roots that certificates may lead to.
    ///   - fetcher: fetches an intermediate that a server left out; nil fetches nothing.
    public convenience init(
        policy: ATSPolicy, trust: TrustAnchors, fetcher: (any IntermediateFetcher)? = nil,
        configuration: Configuration = Configuration()
    ) {
        let material = ConnectionMaterial(
            chains: RememberingChains(ChainBuilder(anchors: trust, fetcher: fetcher)),
            resolver: NameResolver(overrides: configuration.addressOverrides))
        self.init(policy: policy, material: material, configuration: configuration)
    }

    package init(policy: ATSPolicy, material: ConnectionMaterial, configuration: Configuration) {
        self.policy = policy
        self.configuration = configuration
        let connector = Connector(configuration: configuration, material: material)
        self.connector = connector
        pool = ConnectionPool(
            limit: configuration.connectionsPerHost, restingLimit: configuration.restingConnections
        ) { key, deadline in
            try await ATSClient.open(key, policy, connector, deadline)
        }
    }

    /// Loads a request: decided by the policy, connected, judged, sent, and redirected up to the limit.
    ///
    /// - Parameters:
    ///   - request: scheme, authority and path make the URL; `host` is set from the authority.
    ///   - timeout: for this load instead of the configured one.
    ///   - bodyLimit: for the body of this answer instead of the configured one, bytes.
    /// - Returns: the answer with its body still to be read, whatever its status.
    /// - Throws: ``ATSLoadError`` if the load was refused or no answer came; `CancellationError`.
    public func execute(
        _ request: HTTPRequest, body: RequestBody = .empty, timeout: Duration? = nil, bodyLimit: Int? = nil
    ) async throws -> ATSResponse {
        var load = Load(request, body)
        let total = timeout ?? configuration.totalTimeout
        let deadline = total.map { NIODeadline.now() + TimeAmount($0) }
        while true {
            let answer = try await perform(&load, deadline: deadline, bodyLimit: bodyLimit ?? configuration.bodyLimit)
            guard let limit = configuration.redirectLimit,
                let next = try load.redirected(
                    by: answer, limit: limit, toAnyNetwork: configuration.mayRedirectToPrivateAddresses)
            else { return answer.response(load) }
            // A short body is read so that the connection can be used again; a long one is dropped with its connection.
            if case .streaming = answer.wire.body.storage { _ = try? await answer.wire.body.collect(upTo: 16 * 1024) }
            load = next
        }
    }

    /// Takes no more loads, lets those that run end within the grace, and closes every connection.
    public func shutDown(grace: Duration = .seconds(10)) async { await pool.shutDown(grace: grace) }

    package var openConnections: Int { pool.openCount }

    // MARK: One hop

    private func perform(_ load: inout Load, deadline: NIODeadline?, bodyLimit: Int?) async throws -> Answer {
        let url: LoadURL
        do {
            url = try LoadURL(load.url)
        } catch {
            guard let last = load.hops.last else { throw load.failed(LoadFaults.badURL(error, url: load.url)) }
            let target = load.url.terminalSafe(limit: 200)
            throw load.failed(
                LoadFaults.redirect(
                    last.url, -1000, "The redirect leads to '\(target)', which is not a URL: \(error.reason)."))
        }
        let decision = policy.decide(url)
        if let error = decision.error, decision.verdict == .blocked {
            let refusal = LoadFaults.blocked(decision, error: error, isRedirect: !load.hops.isEmpty)
            guard configuration.isMonitoring else { throw load.failed(refusal) }
            load.wouldRefuse.append(refusal)
        }
        var key = PoolKey(isSecure: url.isSecure, host: url.host, port: url.effectivePort)
        key.scope = load.scope
        let head: HTTPRequestHead
        do {
            head = try load.wireHead(url)
        } catch {
            throw load.failed(
                LoadFaults.refusal(
                    url.text, -1002, .httpRequestBody, "The request cannot be sent: \(error.reason)."))
        }
        let wire = WireRequest(
            head: head, body: load.body.content, deadline: deadline,
            idleTimeout: configuration.idleTimeout.map { TimeAmount($0) }, bodyLimit: bodyLimit,
            toleratesUncleanClose: configuration.toleratesUncleanClose)
        var attempts = 0
        while true {
            attempts += 1
            do {
                try Task.checkCancellation()
                let (connection, isReused) = try await pool.lease(key, deadline: deadline)
                do {
                    let pool = pool
                    let response = try await connection.perform(wire) {
                        pool.giveBack(connection, canBeReused: $0)
                    }
                    if let report = connection.wouldRefuse { load.wouldRefuse.append(report) }
                    return Answer(wire: response, connection: connection, url: url, decision: decision)
                } catch let failure as ExchangeFailure
                    where isReused && attempts < 3 && !failure.answerHadBegun && load.mayBeSentAgain
                    && [.closedBeforeAnswer, .reset].contains(failure.reason)
                {
                    // The server closed a resting connection just as it was used: the request was not answered, and goes once more.
                    continue
                }
            } catch is CancellationError {
                throw CancellationError()
            } catch var error as ATSLoadError {
                // A connection is that of all loads of its host: its own error names the host alone.
                error.url = url.text
                throw load.failed(error)
            } catch {
                throw load.failed(LoadFaults.translate(error, url: url, decision: decision))
            }
        }
    }

    // MARK: Connections

    /// Opens a connection that complies, or in monitor mode one that would have been refused, with the reason.
    private static func open(
        _ key: PoolKey, _ policy: ATSPolicy, _ connector: Connector, _ deadline: NIODeadline?
    ) async throws -> HTTPConnection {
        let configuration = connector.configuration
        func establish(
            _ tls: (TLSOffer, HandshakeJudge)?, _ wouldRefuse: ATSLoadError? = nil
        ) async throws -> HTTPConnection {
            try await connector.establish(.init(key: key, tls: tls, deadline: deadline, wouldRefuse: wouldRefuse))
        }
        guard key.isSecure else { return try await establish(nil) }
        let url = try LoadURL("https://\(HostPort.text(host: key.host, port: key.port))/")
        let decision = policy.decide(url)
        let requirements = decision.requirements
        let protocols = configuration.offersHTTP2 ? ["h2", "http/1.1"] : ["http/1.1"]
        let offer = TLSOffer(requirements, protocols: protocols)
        var judge = HandshakeJudge(key: key, requirements: requirements, connector: connector)
        do {
            guard offer.isPossible else { throw LoadFaults.nothingToOffer(url: url) }
            if configuration.asksAsTheSystem {
                judge.shown = try await connector.askedAsTheSystem(key, requirements, judge, until: deadline)
            }
            do {
                return try await establish((offer, judge))
            } catch let refused as RefusedHandshake
                where !configuration.asksAsTheSystem
                && refused.judgement.verdict.causes.contains(where: { $0.code == .ctMissing })
            {
                judge.shown = await connector.observation(key, requirements, until: deadline)
                    .flatMap(ShownFlight.init)
                guard judge.shown != nil else { throw refused }
                return try await establish((offer, judge))
            }
        } catch {
            let refusal = await connector.explained(error, key, url: url, decision: decision, until: deadline)
            guard configuration.isMonitoring, refusal.outcome == .refused else { throw refusal }
            judge.onlyReports = true
            return try await establish((TLSOffer(everythingWith: protocols), judge), refusal)
        }
    }
}

extension Connector {
    /// The configured limit, or what is left until the deadline where that is less.
    func timeLimit(until deadline: NIODeadline?) -> TimeAmount {
        let limit = TimeAmount(configuration.connectTimeout)
        guard let deadline else { return limit }
        return max(.nanoseconds(1), min(limit, deadline - .now()))
    }

    /// What the server shows to the hello of the system; nil if that leads to no handshake.
    func observation(
        _ key: PoolKey, _ requirements: TransportRequirements, until deadline: NIODeadline?
    ) async -> HandshakeObservation? {
        let limit = timeLimit(until: deadline)
        guard let addresses = try? await usableAddresses(of: key, timeout: limit) else { return nil }
        let prober = Prober(group: configuration.eventLoopGroup, resolver: material.resolver)
        return await PolicyHello(requirements, host: key.host, prober, addresses)
            .observation(timeout: .nanoseconds(limit.nanoseconds))
    }

    /// What the server shows beside its certificate to the hello of the system; nil if it shows nothing, or if no answer comes: then the load tells.
    ///
    /// - Throws: ``RefusedHandshake`` or ``ConnectFailure`` where the system's own handshake fails, whatever the library that loads comes to.
    func askedAsTheSystem(
        _ key: PoolKey, _ requirements: TransportRequirements, _ judge: HandshakeJudge, until deadline: NIODeadline?
    ) async throws -> ShownFlight? {
        let limit = timeLimit(until: deadline)
        guard let addresses = try? await usableAddresses(of: key, timeout: limit), let address = addresses.first else {
            return nil
        }
        let prober = Prober(group: configuration.eventLoopGroup, resolver: material.resolver)
        let hello = PolicyHello(requirements, host: key.host, prober, addresses)
        switch await hello.send(timeout: .nanoseconds(limit.nanoseconds)).outcome {
        case .negotiated(let seen):
            let judgement = await judge.judge(seen, peer: configuration.kind(address))
            if !judgement.passes { throw RefusedHandshake(judgement: judgement) }
            return ShownFlight(seen)
        case .alert(let level, let description):
            var failure = ConnectFailure(outcome: .alert(level: level, description: description))
            failure.wasConnected = true
            throw failure
        case .protocolError, .connection: return nil
        }
    }

    /// The error of a failed attempt, with the reason that other hellos tell: one that offers everything where the server itself ended the
    /// handshake, and a smaller one where the size of the first may have been too much. No request is ever sent on their connections.
    func explained(
        _ error: any Error, _ key: PoolKey, url: LoadURL, decision: URLDecision, until deadline: NIODeadline?
    ) async -> ATSLoadError {
        let now = configuration.now()
        func translated(
            _ error: any Error, _ widest: HandshakeObservation? = nil, _ chain: ChainFacts? = nil,
            _ smaller: HandshakeOutcome? = nil
        ) -> ATSLoadError {
            LoadFaults.translate(
                error, url: url, decision: decision, widest: widest, chain: chain, smaller: smaller, at: now,
                logs: configuration.transparencyLogs)
        }
        guard let failure = error as? ConnectFailure, failure.wasConnected, !failure.askedForClientCertificate,
            let addresses = try? await usableAddresses(of: key, timeout: timeLimit(until: deadline))
        else { return translated(error) }
        let prober = Prober(group: configuration.eventLoopGroup, resolver: material.resolver)
        let left = Duration.nanoseconds(timeLimit(until: deadline).nanoseconds)
        if let judged = await judged(failure, key, decision, prober, addresses, left) { return translated(judged) }
        var widest: HandshakeObservation?
        if failure.outcome.isRefusal {
            widest = await WidestHello.ask(
                prober, addresses, serverName: key.host,
                beyond: .init(maximum: decision.requirements.maximum, groups: decision.requirements.groups),
                timeout: .nanoseconds(timeLimit(until: deadline).nanoseconds))
        }
        var chain: ChainFacts?
        if let widest, let address = addresses.first {
            chain = await TargetDeadline.within(left) {
                await material.chains.facts(of: widest.certificates, at: now, fetchingWithin: FetchScope(of: address))
            }
        }
        let smaller = await TargetDeadline.within(left * 2) {
            await PolicyHello(decision.requirements, host: key.host, prober, addresses)
                .smaller(after: failure.outcome, widest: widest, timeout: left)
        }
        return translated(error, widest, chain, smaller)
    }

    /// Where the TLS library may lack what the server and the system have in common: what the system's own hello comes to.
    ///
    /// - Returns: nil if that hello fails as well.
    private func judged(
        _ failure: ConnectFailure, _ key: PoolKey, _ decision: URLDecision, _ prober: Prober,
        _ addresses: [SocketAddress], _ timeout: Duration
    ) async -> (any Error)? {
        guard failure.outcome.isRefusal, let address = addresses.first else { return nil }
        let hello = PolicyHello(decision.requirements, host: key.host, prober, addresses)
        guard case .negotiated(let seen) = await hello.send(timeout: timeout).outcome,
            let missing = ATSClient.missing(seen)
        else { return nil }
        let judge = HandshakeJudge(key: key, requirements: decision.requirements, connector: self)
        let judgement = await TargetDeadline.within(timeout) {
            await judge.judge(seen, peer: configuration.kind(address))
        }
        if !judgement.passes { return RefusedHandshake(judgement: judgement) }
        return LoadFaults.notLoadable(missing, decision)
    }
}

extension ATSClient: Service {
    /// Waits for the graceful shutdown or a cancellation, then lets running loads end and closes every connection.
    public func run() async throws {
        try? await gracefulShutdown()
        await shutDown()
    }
}
