// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import HTTPService
import TrustStores

/// A part of the service that answers routes.
///
/// An interface of its own (other paths, another form of bodies and errors) is a folder with handlers, and a line in
/// ``ServiceParts/handlers``. It makes no verifier, store or limiter: proofs go to ``ProofIntake``, and routes say who may call and are limited
/// by that.
package protocol Handler: Sendable {
    var routes: [Route] { get }
}

extension ServiceParts {
    /// Everything that answers.
    var handlers: [any Handler] {
        var handlers: [any Handler] = [
            TokenHandler(
                store: store, live: live, trusted: trusted, appCheck: appCheckBearers, quotas: quotas,
                observer: observer, observedRoutes: configuration.observe.routes),
            RevocationHandler(
                RevocationList(
                    store: store, live: live, tokenLife: configuration.longestTokenLife, sources: sources,
                    observer: observer), uptime: sources.uptime),
            ProofHandler(
                apps: apps, challenges: challenges, modes: modes, proofs: proofs, store: store, live: live,
                lifetime: configuration.challenges.ttl, users: users, sources: sources, observer: observer),
            PromotionHandler(
                apps: apps, modes: modes, proofs: proofs, device: device, store: store, users: users,
                observer: observer, now: sources.now),
            DeviceCheckHandler(apps: apps, device: device),
            OperatorHandler(operators: operators),
            RiskHandler(apps: apps, signals: signals, watch: risk, observer: observer),
            HealthHandler(readiness: readiness, observer: observer),
        ]
        if let bearers = appCheckBearers {
            handlers += [
                AppCheckHandler(parts: self), AppCheckVerification(store: store, live: live, bearers: bearers),
            ]
        }
        return handlers
    }

    var operators: OperatorService {
        OperatorService(
            store: store, trusted: trusted, receiptPlan: receiptPlan, users: users, sources: sources,
            observer: observer, challengeLife: configuration.challenges.ttl, reread: { try await self.rereadSecrets() })
    }

    /// What gateways may be let through, by name.
    var quotas: Quotas { Quotas(settings: configuration.quotas, store: store, users: users, observer: observer) }

    private var appCheckBearers: AppCheckBearers? {
        configuration.appCheck.map { _ in AppCheckBearers(live: live, trusted: trusted) }
    }

    /// Every operation of the service. What servers and operators call is recorded.
    func routes(_ handlers: [any Handler]) -> RouteTable {
        RouteTable(handlers.flatMap(\.routes).map(audit.audited))
    }
}
