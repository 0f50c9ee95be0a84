// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppleServices
import HTTPService
import TrustStores
import Vocabulary

/// What a running service shares, built once: one store, one set of verifiers, one limiter of each kind.
///
/// Handlers and background work keep it; what judges takes the parts that it needs. By reference: keys and tokens are in it, groups of services
/// log what their services consist of, and a class is described by its name alone.
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
