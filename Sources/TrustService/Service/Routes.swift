// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

/// A part of the service that answers routes.
///
/// An interface of its own (other paths, another form of bodies and errors) is a folder with handlers, and a line in
/// ``ServiceParts/handlers``. It makes no verifier, store or limiter: proofs go to ``ProofIntake``, and routes say who may call and are limited
/// by that.
package protocol Handler: Sendable {
    var routes: [Route] { get }
}

extension ServiceParts {
    var handlers: [any Handler] {
        let native: [any Handler] = [
            TokenHandler(parts: self), RevocationHandler(self),
            ProofHandler(parts: self), PromotionHandler(parts: self), DeviceCheckHandler(parts: self),
            OperatorHandler(operators: operators), RiskHandler(parts: self), HealthHandler(parts: self),
        ]
        return native + (configuration.appCheck == nil ? [] : [AppCheckHandler(parts: self)])
    }

    var operators: OperatorService {
        OperatorService(
            store: store, trusted: trusted, receiptPlan: receiptPlan, users: users, sources: sources,
            observer: observer, challengeLife: configuration.challenges.ttl, reread: { try await self.rereadSecrets() })
    }

    /// What gateways may be let through, by name.
    var quotas: Quotas { Quotas(settings: configuration.quotas, store: store, users: users, observer: observer) }

    /// Every operation of the service. What servers and operators call is recorded.
    func routes(_ handlers: [any Handler]) -> RouteTable {
        RouteTable(handlers.flatMap(\.routes).map(audit.audited))
    }
}
