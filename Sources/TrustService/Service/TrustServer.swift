// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import AppleServices
import ConnectionAdmission
import FoundationEssentials
package import HTTPService
public import Logging
public import ServiceLifecycle
public import TrustStores
import Vocabulary

/// The trust service: everything that runs between a configuration and a port.
///
/// Run it in a `ServiceGroup`: a graceful stop lets the requests that are being answered finish, then closes the store.
public struct TrustServer: Service {
    /// A configuration that cannot be, with every reason at once.
    public struct InvalidConfiguration: Error, Sendable, CustomStringConvertible {
        /// One sentence each, with the place in the document first.
        public let issues: [String]

        /// The issues, a line each.
        public var description: String { issues.joined(separator: "\n") }
    }

    let parts: ServiceParts
    let table: RouteTable
    private let announce: @Sendable (String) -> Void
    private let connectionLimits: ConnectionLimits
    private let inFlight: RequestsInFlight
    private let wrongTokens: RequestLimits

    /// Builds the service over an open store.
    ///
    /// - Parameters:
    ///   - store: The store; the server closes it when it ends.
    ///   - transport: How Apple is reached; nil if no Apple account is configured.
    ///   - announce: Is told each line about the listeners once they accept connections.
    /// - Throws: ``StoreFault`` if the store does not answer, `MalformedInput` for an app identity or a root that cannot be.
    package init(
        configuration: Configuration, store: any TrustStore, transport: (any AppleTransport)?,
        sources: SystemSources = .live, registry: PrometheusRegistry = PrometheusRegistry(),
        connectionLimits: ConnectionLimits = ConnectionLimits(),
        interfaces: (ServiceParts) -> [any Handler] = { _ in [] }, log: Logger,
        announce: @escaping @Sendable (String) -> Void
    ) async throws {
        let log = configuration.tracing.endpoint == nil ? log : log.namingTraces
        parts = try await ServiceParts(
            configuration, store: store, transport: transport, sources: sources,
            observer: RequestObserver(registry: registry, log: log))
        let routes = parts.routes(parts.handlers + interfaces(parts))
        let hasConsole = configuration.internalListen != nil
        table = hasConsole ? RouteTable(routes.routes + ConsoleHandler(parts).routes) : routes
        inFlight = RequestsInFlight(
            limit: configuration.limits.inFlight,
            operations: table.routes.filter(\.isLimitedByLoad).map(\.operation))
        // Far fewer than requests: who has a good token has no wrong ones, and who has none is not to try many.
        let rate = Double(configuration.limits.requestsPerSecondPerAddress)
        wrongTokens = RequestLimits(perSecond: rate / 200, burst: rate / 2)
        parts.observer.show(inFlight)
        parts.observer.declareWatchedCounters()
        parts.quotas.declareCounters()
        var connectionLimits = connectionLimits
        connectionLimits.bodyBytes = configuration.limits.bodyBytes
        self.connectionLimits = connectionLimits
        self.announce = announce
    }

    /// Builds the service over an open store.
    ///
    /// - Parameters:
    ///   - configuration: made by your program, or read from a document (``Configuration/init(json:environment:readFile:)``).
    ///   - store: the store; the server closes it when it ends.
    ///   - log: where refusals and faults are written in full.
    ///   - announce: is called with each line about the listeners once they accept connections.
    /// - Throws: ``InvalidConfiguration`` with everything that is wrong with the configuration, `StoreFault` if the store does not answer,
    ///   `AppleAuthorizationFault` for a key of Apple's that cannot be used.
    public init(
        configuration: Configuration, store: any TrustStore, log: Logger,
        announce: @escaping @Sendable (String) -> Void = { _ in }
    ) async throws {
        let issues = configuration.issues
        guard issues.isEmpty else { throw InvalidConfiguration(issues: issues.map(\.description)) }
        try await self.init(
            configuration: configuration, store: store, transport: LiveAppleTransport(), log: log, announce: announce)
    }

    /// Reads the files of tokens, keys and roots again, as the signal SIGHUP asks. A fault keeps what counted before and says so in the log.
    ///
    /// - Parameter read: Reads the configuration with its files, as at the start.
    package func reload(_ read: () -> ConfigurationReader.Outcome) async { await parts.reload(read) }

    /// Serves until it is stopped.
    public func run() async throws {
        let configuration = parts.configuration
        let addressLimits = RequestLimits(perSecond: Double(configuration.limits.requestsPerSecondPerAddress))
        var services: [ServiceGroupConfiguration.ServiceConfiguration] = []
        // The last to be stopped: it sends what the others leave.
        if let tracing = parts.tracing { services.append(.init(service: tracing.exporter)) }
        services.append(.init(service: Maintenance(parts)))
        if configuration.receipts.refresh, let apple = parts.live.current.apple {
            services.append(.init(service: ReceiptWorker(parts: parts, apple: apple)))
        }
        let caps = ConnectionCaps(configuration, parts.observer)
        parts.showCertificates()
        let bound = BoundListeners(announce: announce)
        var outside = listener(configuration.listen, isInternal: false, addressLimits, caps.outside) {
            bound.secondIsBound("listening on \($0)")
        }
        if let address = configuration.internalListen {
            let inside = listener(address, isInternal: true, addressLimits, caps.inside) {
                bound.firstIsBound("internal listening on \($0)")
            }
            services.append(.init(service: inside, failureTerminationBehavior: .gracefullyShutdownGroup))
            outside = bound.second(outside)
        }
        services.append(.init(service: outside, failureTerminationBehavior: .gracefullyShutdownGroup))
        // Below, a group logs what its services consist of, and these have keys and tokens in them.
        var log = parts.observer.log
        log.logLevel = max(log.logLevel, .notice)
        var group = ServiceGroupConfiguration(services: services, logger: log)
        group.maximumGracefulShutdownDuration = .seconds(9)
        let running = ServiceGroup(configuration: group)
        let result: Result<Void, any Error>
        do {
            result = .success(try await running.run())
        } catch {
            result = .failure(error)
        }
        await parts.signals.flush()
        await parts.audit.recordRepeated(at: .distantFuture)
        parts.observer.writeSuppressed(before: nil)
        await parts.store.close()
        try result.get()
    }

    private func listener(
        _ address: ListenAddress, isInternal: Bool, _ addressLimits: RequestLimits, _ connections: Admission.Limits,
        announce: @escaping @Sendable (String) -> Void
    ) -> any Service {
        let responder = ServiceResponder(
            parts: parts, table: isInternal ? table : table.withoutConsole, isInternal: isInternal,
            isLoopback: address.isLoopback,
            browsers: BrowserGate(listener: address.host, names: parts.configuration.hosts),
            addressLimits: addressLimits, wrongTokens: wrongTokens)
        let live = parts.live
        let first = isInternal ? live.current.internalIdentity : live.current.identity
        var place = Listener.Place(
            setting: isInternal ? "internalListen" : "listen", host: address.host, port: address.port)
        if let first {
            place.identity = { (isInternal ? live.current.internalIdentity : live.current.identity) ?? first }
        }
        let listening = place
        return Listener(
            listening, limits: connectionLimits,
            admission: parts.observer.admission(connections, to: isInternal ? "internal" : "public"),
            observer: parts.observer, sources: parts.sources, log: parts.observer.log,
            announce: { announce(listening.url(port: $0)) },
            gate: ServiceGate(table: responder.table, inFlight: inFlight, parts: parts), answer: responder.answer)
    }
}

/// How many connections each listener of the service keeps.
///
/// The internal listener has a share of its own, so that operators and monitoring get in while the public one is full.
struct ConnectionCaps: Sendable {
    let outside: Admission.Limits
    let inside: Admission.Limits

    init(
        _ configuration: Configuration, _ observer: RequestObserver,
        descriptors: DescriptorLimit = .current()
    ) {
        var limits = descriptors.limits(total: configuration.limits.connections)
        if let wanted = configuration.limits.connections, wanted > limits.total {
            observer.log.warning(
                "limits.connections is more than the process's file descriptors allow.",
                metadata: ["connections": "\(wanted)", "allowed": "\(limits.total)"])
        }
        let share = max(4, min(64, limits.total / 8))
        if configuration.internalListen != nil {
            limits.total = max(4, limits.total - share)
        }
        limits.perAddress = min(
            configuration.limits.connectionsPerAddress ?? max(64, limits.total / 16), limits.total)
        limits.exempt = configuration.trustedProxies
        outside = limits
        inside = .init(total: share, perAddress: share)
        observer.set(.connectionsLimit, Double(limits.total), [("listener", "public")])
    }
}
