// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import AppleServices
import ConnectionAdmission
import Findings
import Hummingbird
public import Logging
import NIOCore
public import ServiceLifecycle
public import TrustStores

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

    let core: ServiceCore
    private let announce: @Sendable (String) -> Void
    private let connectionLimits: ConnectionLimits

    /// Builds the service over an open store.
    ///
    /// - Parameters:
    ///   - store: The store; the server closes it when it ends.
    ///   - transport: How Apple is reached; nil where no Apple account is configured.
    ///   - announce: Is told each line about the listeners once they accept connections.
    /// - Throws: ``StoreFault`` where the store does not answer, `MalformedInput` for an app identity or a root that cannot be.
    package init(
        configuration: Configuration,
        store: any TrustStore,
        transport: (any AppleTransport)?,
        sources: SystemSources = .live,
        registry: PrometheusRegistry = PrometheusRegistry(),
        connectionLimits: ConnectionLimits = ConnectionLimits(),
        log: Logger,
        announce: @escaping @Sendable (String) -> Void
    ) async throws {
        core = ServiceCore(
            configuration: configuration,
            store: store,
            challengeKeys: ChallengeBook(
                try await ServiceCore.codec(store, random: sources.random, at: sources.now())
            ),
            live: LiveBook(
                try await LiveParts(configuration, store: store, transport: transport, random: sources.random)
            ),
            transport: transport,
            appLimits: configuration.limits.requestsPerSecondPerApp.map { RequestLimits(perSecond: Double($0)) },
            signals: SignalBook(store: store, log: log),
            probe: StoreProbe(store),
            sources: sources,
            observer: RequestObserver(registry: registry, log: log),
            log: log
        )
        core.observer.declareWatchedCounters()
        var connectionLimits = connectionLimits
        connectionLimits.bodyBytes = configuration.limits.bodyBytes
        self.connectionLimits = connectionLimits
        self.announce = announce
    }

    /// Builds the service over an open store, from the document that `sealward serve --config` reads.
    ///
    /// - Parameters:
    ///   - json: The configuration, as `docs/configuration.md` describes it. Its `store` is not opened: `store` is what serves.
    ///   - environment: Variables such as `SEALWARD_LISTEN` that override the document.
    ///   - store: The store; the server closes it when it ends.
    ///   - log: Where refusals and faults are told in full.
    ///   - readFile: Reads a file that the document names (tokens, keys, roots); nil where it cannot be read.
    ///   - announce: Is told each line about the listeners once they accept connections.
    /// - Throws: ``InvalidConfiguration`` with everything that is wrong with the document, `StoreFault` where the store does not answer,
    ///   `AppleAuthorizationFault` for a key of Apple's that cannot be.
    public init(
        json: [UInt8],
        environment: [String: String] = [:],
        store: any TrustStore,
        log: Logger,
        readFile: @escaping (String) -> [UInt8]? = { _ in nil },
        announce: @escaping @Sendable (String) -> Void = { _ in }
    ) async throws {
        let outcome = ConfigurationReader.read(file: json, environment: environment) { path throws(UnreadableFile) in
            guard let bytes = readFile(path) else { throw UnreadableFile(reason: "\(path): cannot be read") }
            return bytes
        }
        switch outcome {
        case .issues(let issues): throw InvalidConfiguration(issues: issues.map(\.description))
        case .configuration(let configuration):
            try await self.init(
                configuration: configuration,
                store: store,
                transport: LiveAppleTransport(),
                log: log,
                announce: announce
            )
        }
    }

    /// Reads the files of tokens, keys and roots again, as the signal SIGHUP asks. A fault keeps what counted before and says so in the log.
    ///
    /// - Parameter read: Reads the configuration with its files, as at the start.
    package func reload(_ read: () -> ConfigurationReader.Outcome) async { await core.reload(read) }

    /// Serves until it is stopped.
    public func run() async throws {
        let configuration = core.configuration
        let addressLimits = RequestLimits(perSecond: Double(configuration.limits.requestsPerSecondPerAddress))
        var services: [ServiceGroupConfiguration.ServiceConfiguration] = []
        services.append(.init(service: Maintenance(core: core)))
        if configuration.receipts.refresh, let apple = core.apple {
            services.append(.init(service: ReceiptSchedule(worker: ReceiptWorker(core: core, apple: apple))))
        }
        let doors = ConnectionDoors(configuration, core.observer, core.log)
        if let address = configuration.internalListen {
            services.append(
                .init(
                    service: listener(address, isInternal: true, addressLimits, doors.inside),
                    failureTerminationBehavior: .cancelGroup
                )
            )
        }
        services.append(.init(service: listener(configuration.listen, isInternal: false, addressLimits, doors.outside)))
        var group = ServiceGroupConfiguration(services: services, logger: core.log)
        group.maximumGracefulShutdownDuration = .seconds(9)
        let running = ServiceGroup(configuration: group)
        let result: Result<Void, any Error>
        do {
            result = .success(try await running.run())
        } catch {
            result = .failure(error)
        }
        await core.signals.flush()
        core.observer.writeSuppressed(before: nil)
        await core.store.close()
        try result.get()
    }

    private func listener(
        _ address: ListenAddress,
        isInternal: Bool,
        _ addressLimits: RequestLimits,
        _ admission: Admission
    ) -> any Service {
        let configuration = core.configuration
        let correlationIds = CorrelationIds(random: core.sources.random(6))
        let responder = ServiceResponder(
            table: core.routes,
            isInternal: isInternal,
            isLoopback: address.isLoopback,
            live: core.live,
            trustedProxies: configuration.trustedProxies,
            bodyLimit: configuration.limits.bodyBytes,
            addressLimits: addressLimits,
            hasInternalListener: configuration.internalListen != nil,
            sources: core.sources,
            observer: core.observer,
            correlationIds: correlationIds
        )
        let (announce, log) = (announce, core.log)
        let limits = connectionLimits
        let watcher = core.connectionWatcher(correlationIds)
        let application = Application(
            responder: responder,
            server: .http1(
                configuration: .init(
                    additionalChannelHandlers: [
                        ConnectionGuardInstaller {
                            ConnectionGuard(limits: limits, watcher: watcher)
                        }
                    ],
                    httpDecoderConfiguration: .init(
                        maxHeaderFieldSize: 16_384,
                        maxHeaderListSize: 32_768,
                        maxHeaderFieldCount: 100
                    )
                )
            ),
            configuration: .init(
                address: .hostname(address.host, port: address.port),
                serverName: nil,
                backlog: 1024
            ),
            onServerRunning: { channel in
                await ConnectionDoors.put(admission, before: channel, log)
                let port = channel.localAddress?.port ?? address.port
                let text = "http://\(ListenAddress(host: address.host, port: port))"
                announce(isInternal ? "internal listening on \(text)" : "listening on \(text)")
            },
            logger: core.quietLog
        )
        let setting = isInternal ? "internalListen" : "listen"
        return Listener(setting: setting, address: address, application: application)
    }
}

extension ServiceCore {
    /// Counts what ends connections, and logs unreadable requests like every other refusal.
    func connectionWatcher(_ correlationIds: CorrelationIds) -> ConnectionWatcher {
        ConnectionWatcher(
            ended: { observer.count("http.connections.ended", [("state", $0)]) },
            unreadable: {
                let problem = Problem("request.malformed", evidence: "not a request")
                let correlationId = correlationIds.next()
                observer.finished(
                    operation: "unreadable",
                    answer: .problem(problem, correlationId: correlationId),
                    seconds: 0,
                    at: sources.uptime(),
                    correlationId: correlationId,
                    evidence: problem.evidence
                )
                return problem.document(correlationId: correlationId)
            }
        )
    }

    /// The log of the HTTP library: it interpolates what it was sent, so only its errors pass.
    var quietLog: Logger {
        var log = log
        log.logLevel = .error
        return log
    }
}
