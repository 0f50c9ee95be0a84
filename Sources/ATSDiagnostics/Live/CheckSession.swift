// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ATSClient
public import AppTransportSecurity
public import FoundationEssentials
import TLSModel
public import TLSProbe
public import Vocabulary

/// One run of checks: trust stores read once, a prober and a client for all targets.
public struct CheckSession: Sendable {
    /// What a run needs to know; every default is that of the command line.
    public struct Configuration: Sendable {
        /// The system whose client is meant.
        public var profile: OSProfile = .standard
        /// The app's NSAppTransportSecurity dictionary, as one more configuration.
        public var appDictionary: ATSDictionary?
        /// The SDK that the app is linked on, if it is not that of ``profile``: it moves the verdict of the app's dictionary alone.
        public var appSDK: LinkedSDK?
        /// Several systems that the same observations are judged for; the first one is ``profile``. Empty: ``profile`` alone.
        public var systems: [OSProfile] = []
        /// Whether targets are judged as the system's own processes of OS 27 load; takes the place of the app's dictionary.
        public var isManaged = false
        /// A note is made of certificates that expire within so many days; nil makes none.
        public var expiryDays: Int?
        /// All distinct hellos instead of the adaptive plan.
        public var isExhaustive = false
        /// Whether a real GET follows the handshakes.
        public var loadsHTTP = true
        /// Whether missing intermediates are fetched from caIssuers addresses.
        public var fetchesIntermediates = true
        /// PEM files of roots as if a user had installed them.
        public var installedRoots: [String] = []
        /// Files of anchors that the app itself brings.
        public var appAnchors: [String] = []
        /// A PEM file instead of the system's roots.
        public var systemRoots: String?
        /// Places that are not looked up, as curl's `--resolve`.
        public var overrides: [AddressOverride] = []
        /// How long one connection may take.
        public var connectTimeout: Duration = .seconds(10)
        /// How long one target may take in all.
        public var targetTimeout: Duration = .seconds(30)
        /// Whether redirects, fetched intermediates and the places of enrollments may lead to any network.
        public var allowsPrivateRedirects = false
        /// The time of judgement; nil is now.
        public var instant: Date?
        /// Which addresses a place may have, whoever names it: for a service whose callers choose the targets; nil for any.
        package var limits: NameResolver.Limits?
        /// The CT logs by which timestamps are judged; nil only counts them.
        public var logs: CTLogList?

        /// What `ats check` does without options.
        public init() {}
    }

    let configuration: Configuration
    private let diagnosis: TargetDiagnosis
    private let network: NetworkProbing
    private let instant: Date

    /// Reads the trust stores.
    ///
    /// - Throws: `MalformedInput` if a file of roots is absent or holds no certificate.
    public init(_ configuration: Configuration) throws(MalformedInput) {
        try self.init(
            configuration, resolver: NameResolver(overrides: configuration.overrides, limits: configuration.limits))
    }

    /// - Parameter resolver: where names are looked up.
    init(_ configuration: Configuration, resolver: NameResolver) throws(MalformedInput) {
        self.configuration = configuration
        let anchors = try TrustAnchors(
            system: configuration.systemRoots.map { [$0] } ?? [], app: configuration.appAnchors,
            installed: configuration.installedRoots)
        let instant = configuration.instant ?? Date()
        let network = NetworkProbing(configuration, anchors: anchors, resolver: resolver, instant: instant)
        self.network = network
        self.instant = instant
        diagnosis = TargetDiagnosis(
            configuration: configuration, probing: network,
            loading: configuration.loadsHTTP
                ? NetworkLoading(configuration, chains: network.chains, resolver: network.resolver, instant: instant)
                : nil, instant: instant)
    }

    /// Checks one target.
    public func check(_ target: CheckTarget) async -> TargetReport {
        await check(target, within: configuration.targetTimeout)
    }

    private func check(_ target: CheckTarget, within limit: Duration) async -> TargetReport {
        await TargetDeadline.within(limit) { await diagnosis.diagnose(target) }
    }

    /// Checks all targets, at most `concurrency` at a time; `each` is called one at a time, in the order of finishing, with the place of
    /// the target in the list. A cancelled task stops early.
    public func run(
        _ targets: [CheckTarget], concurrency: Int, each: (Int, TargetReport) async throws -> Void
    ) async throws {
        try await BoundedTasks(width: concurrency)
            .run(targets, work: { _, target in await check(target) }, each: each)
    }

    /// Checks the targets at some places of a list, at most `concurrency` at a time; `batch` gets all results that are there at once, at
    /// most `most`. A cancelled task stops early.
    ///
    /// - Parameter gate: what a public address waits at before its check begins.
    package func run(
        _ list: TargetList, places: [UInt32], concurrency: Int, gate: PoliteGate? = nil, atMost most: Int,
        batch: ([(place: Int, report: TargetReport)]) async throws -> Void
    ) async throws {
        try await BoundedTasks(width: concurrency).run(
            places,
            work: { _, place in
                let place = Int(place)
                let target = try list.target(at: place)
                guard let gate else { return (place: place, report: await check(target)) }
                return (place: place, report: try await check(target, at: gate))
            },
            atMost: most,
            batch: { results in try await batch(results.map(\.value)) }
        )
    }

    /// Checks one target when the gate lets it in. The look-up for the gate and the check share the time for the target; the time at the gate does
    /// not count.
    private func check(_ target: CheckTarget, at gate: PoliteGate) async throws -> TargetReport {
        let start = ContinuousClock.now
        let limit = configuration.targetTimeout
        let address = await TargetDeadline.within(limit) { await publicAddress(of: target) }
        let left = max(.zero, limit - (.now - start))
        guard let address else { return await check(target, within: left) }
        return try await gate.run(address) { await check(target, within: left) }
    }

    /// The first address of a target, if it is one of the public internet.
    func publicAddress(of target: CheckTarget) async -> IPAddress? {
        let literal = target.address ?? target.url.literalAddress.map { _ in target.url.host }
        let text: String? = if let literal { literal } else { await addresses(of: target).first }
        guard let address = text.flatMap({ IPAddress($0) }), !AddressKind(address).isPrivate else { return nil }
        return address
    }

    /// Every address of a target's name; none if it has none, or if the time for a target ends before they are known.
    @Sendable package func addresses(of target: CheckTarget) async -> [String] {
        await TargetDeadline.within(configuration.targetTimeout) { await network.addresses(of: Endpoint(target.url)) }
    }

    /// The same look-up, with the reason if there is none.
    func resolution(of target: CheckTarget) async -> NameResolver.Resolution {
        await network.resolution(of: Endpoint(target.url))
    }

    /// The smallest dictionary that lets every target load; with the app's own dictionary in the configuration, also its dead keys.
    ///
    /// - Parameter progress: called with the number of targets that are done.
    public func minimize(
        _ targets: [CheckTarget], concurrency: Int, progress: @Sendable (Int) -> Void = { _ in }
    ) async -> MinimalDictionary {
        let (diagnosis, limit) = (diagnosis, configuration.targetTimeout)
        var judges: [Int: ConfigurationJudge] = [:]
        // Neither the work nor counting it throws.
        try? await BoundedTasks(width: concurrency).run(targets) { _, target in
            await TargetDeadline.within(limit) { await diagnosis.evidence(of: target) }
        } each: { index, judge in
            judges[index] = judge
            progress(judges.count)
        }
        let known = targets.enumerated().compactMap { index, target in judges[index].map { (target: target, judge: $0) }
        }
        return DictionarySearch(known).minimal(app: configuration.appDictionary)
    }
}

extension CheckSession {
    /// Loads what a managed check asks before it knows its targets, as the system's own processes do.
    ///
    /// - Parameter addresses: where the place is; nil looks it up for the load.
    func enrollmentClient(at addresses: AddressOverride?) -> ATSClient {
        var settings = NetworkLoading.settings(configuration, instant)
        settings.pinnedAddress = addresses
        settings.connectionsPerHost = ATSClient.Configuration().connectionsPerHost
        settings.judgesTransparency = true
        settings.transparencyLogs = configuration.logs
        return ATSClient(
            policy: ATSPolicy(dictionary: DiagnosticConfiguration.managed.dictionary, profile: configuration.profile),
            material: ConnectionMaterial(chains: network.chains, resolver: network.resolver), configuration: settings)
    }
}
