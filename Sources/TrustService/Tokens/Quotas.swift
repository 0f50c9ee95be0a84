// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPService
import HTTPTypes
import TrustStores
import Vocabulary

/// Counts what gateways let through under the quotas of the configuration.
struct Quotas: Sendable {
    let settings: [Configuration.Quota]
    let store: any TrustStore
    let users: UserNames
    let observer: RequestObserver

    /// What a request would use of a quota, before anything is counted.
    typealias Draft = (quota: Configuration.Quota, cost: Int)

    /// Puts the counter of each quota into the registry, at zero, so that the first refusal is an increase.
    func declareCounters() {
        for quota in settings {
            observer.count(.quotasExhausted, [("quota", quota.name)], by: 0)
            observer.count(.quotasDrawn, [("quota", quota.name)], by: 0)
        }
    }

    /// What a gateway asks for: the quota that its query names, and the cost that it states.
    ///
    /// - Throws: ``Problem`` `request.malformed` for an unknown quota, or a cost that is not a whole number from 1 to the limit.
    func draft(_ name: String, _ headers: HTTPFields) throws(Problem) -> Draft {
        guard let quota = settings.first(where: { $0.name.hasSameBytes(as: name) }) else {
            throw Problem(.requestMalformed, evidence: "the query names an unknown quota")
        }
        var cost = 1
        if let header = quota.costHeader.flatMap({ HTTPField.Name($0) }) {
            let values = headers[values: header]
            if let value = values.first {
                guard values.count == 1, let stated = Quotas.number(value), stated <= quota.limit else {
                    throw Problem(.requestMalformed, evidence: "the cost is not a whole number from 1 to the limit")
                }
                cost = stated
            }
        }
        return (quota, cost)
    }

    /// Digits, and nothing else: no sign, no space, no leading zero; so never less than 1.
    private static func number(_ text: String) -> Int? {
        text.utf8.first == 0x30 ? nil : text.decimalNumber(digits: 12)
    }

    /// Counts a request that passed in every other way, once over all nodes.
    ///
    /// - Returns: how much is left in the window.
    /// - Throws: ``Problem`` `policy.quota`, `StoreFault`.
    func draw(_ draft: Draft, for bearer: TokenBearer, at now: Date) async throws -> Int {
        let quota = draft.quota
        guard
            let draw = QuotaDraw(
                quota: quota.name, subject: subject(of: bearer, per: quota.per), cost: draft.cost,
                limit: quota.limit, window: quota.window)
        else { throw Problem(.internalError, evidence: "a quota is out of range") }
        switch try await store.draw(draw, at: now) {
        case .drawn(let remaining, _):
            observer.count(.quotasDrawn, [("quota", quota.name)], by: draft.cost)
            return remaining
        case .exhausted(let until):
            observer.count(.quotasExhausted, [("quota", quota.name)])
            throw Problem(
                .policyQuota, retryAfterSeconds: Problem.seconds(until: until, from: now),
                evidence: "quota \(quota.name)")
        }
    }

    /// Who is counted. The kind and the app stand in front, so that no user has the name of a key.
    private func subject(of bearer: TokenBearer, per: Configuration.Quota.Per) -> String {
        switch per {
        case .app: return "app:\(bearer.app)"
        case .user:
            guard let user = bearer.user else { return "key:\(bearer.subject)" }
            return "user:\(bearer.app.utf8.count):\(bearer.app):\(users.counted(user))"
        case .key: return "key:\(bearer.subject)"
        }
    }
}
