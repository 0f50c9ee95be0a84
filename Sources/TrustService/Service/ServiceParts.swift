// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppleServices
import ConnectionAdmission
import FoundationEssentials
import HTTPService
import Logging
import TrustStores
import Vocabulary

/// What a running service shares, built once: one store, one set of verifiers, one limiter of each kind.
///
/// Handlers and background work keep it; what judges takes the parts that it needs. It has keys and tokens in it, and a service group logs a
/// description of its services: a class, because the description of a class is its name alone.
package final class ServiceParts: Sendable {
    let configuration: Configuration
    let store: any TrustStore
    let sources: SystemSources
    let observer: RequestObserver
    let transport: (any AppleTransport)?
    let live: LiveBook
    let apps: AppDirectory
    let device: DeviceBits
    let challenges: ChallengeBook
    let signals: SignalBook
    let trusted: TrustedKeys
    let risk: RiskWatch
    let modes: ModeAnswers
    let receiptPlan: ReceiptPlan
    let proofs: ProofIntake
    let readiness: Readiness
    let audit: AuditRecord
    let users: UserNames
    /// nil if nothing is traced.
    let tracing: ServiceTracing?

    init(
        _ configuration: Configuration, store: any TrustStore, transport: (any AppleTransport)?, sources: SystemSources,
        observer: RequestObserver
    ) async throws {
        let tracing = ServiceTracing(configuration, observer: observer, uptime: sources.uptime)
        let store = tracing?.around(store) ?? store
        let transport = transport.map { tracing?.around($0) ?? $0 }
        (self.configuration, self.store, self.transport) = (configuration, store, transport)
        (self.sources, self.observer, self.tracing) = (sources, observer, tracing)
        users = try await UserNames(configuration.users, in: store, random: sources.random)
        challenges = try await ChallengeBook(store: store, sources: sources)
        live = LiveBook(try await LiveParts(configuration, store: store, transport: transport, random: sources.random))
        apps = AppDirectory(
            live: live,
            limits: configuration.limits.requestsPerSecondPerApp.map { RequestLimits(perSecond: Double($0)) },
            uptime: sources.uptime)
        device = try DeviceBits(live, configuration.bits)
        signals = SignalBook(store: store, log: observer.log)
        trusted = TrustedKeys(apps: apps, store: store, observer: observer)
        risk = RiskWatch(store: store, apps: apps, sources: sources, observer: observer)
        modes = ModeAnswers(
            store: store, signals: signals, observer: observer, uptime: sources.uptime)
        receiptPlan = ReceiptPlan(settings: configuration.receipts)
        audit = AuditRecord(
            store: store, observer: observer, refused: RefusedCalls(), users: users)
        readiness = Readiness(store: store, sources: sources, observer: observer)
        proofs = ProofIntake(
            store: store, challenges: challenges, trusted: trusted, risk: risk, receiptPlan: receiptPlan,
            signals: signals,
            newKeys: NewKeyLimits(
                settings: configuration.limits, trustedProxies: configuration.trustedProxies, users: users),
            hosts: SignedHosts(configuration), explainer: RefusalExplainer(observer: observer, uptime: sources.uptime),
            observer: observer)
    }
}

extension ServiceParts {
    /// Takes the keys of challenges that the store has now, and its secrets if they are others.
    func rereadSecrets() async throws {
        try await challenges.refresh()
        let mark = try await store.secretsMark()
        // Also if the files were reread meanwhile, so that the parts below have the new secrets already.
        try await users.reread(store, mark: mark)
        let old = live.current
        guard mark != old.secretsMark else { return }
        let new = try await LiveParts(
            old.configuration, store: store, transport: transport, random: sources.random)
        live.replace(old, by: new)
    }

    /// Reads the files of tokens, keys and roots again. A fault keeps what counted before and says so in the log.
    ///
    /// - Parameter read: Reads the configuration with its files, as at the start.
    /// - Returns: whether the files count now.
    @discardableResult
    func reload(_ read: () -> ConfigurationReader.Outcome) async -> Bool {
        var faults: [String] = []
        do {
            switch read() {
            case .issues(let issues): faults = issues.prefix(20).map(\.description)
            case .configuration(let other):
                live.current = try await LiveParts(
                    configuration.takingFiles(of: other), store: store, transport: transport, random: sources.random)
                showCertificates()
            }
        } catch {
            faults = [Problem(error).evidence]
        }
        for fault in faults { observer.log.error("A file could not be reread.", metadata: ["reason": "\(fault)"]) }
        observer.count(.filesReread, [("outcome", faults.isEmpty ? "taken" : "kept")])
        if faults.isEmpty {
            observer.log.notice("The files of tokens, keys and roots were reread.")
        } else {
            observer.log.error(
                "The files of tokens, keys and roots were not reread; what was read before stays in force.")
        }
        return faults.isEmpty
    }

    /// Shows when the certificates of listeners expire, and warns of those with less than a month left.
    func showCertificates() {
        for (listener, identity) in [("public", live.current.identity), ("internal", live.current.internalIdentity)] {
            guard let identity else { continue }
            observer.set(
                .certificateExpiry, identity.expires.timeIntervalSince1970, [("listener", listener)])
            guard identity.expires < sources.now().addingTimeInterval(30 * 86_400) else { continue }
            observer.log.warning(
                "The certificate of a listener expires within 30 days, or has expired.",
                metadata: ["listener": "\(listener)", "expires": "\(RFC3339.text(identity.expires))"])
        }
    }
}
