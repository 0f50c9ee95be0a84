// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import AppleServices
import DeviceCheckBits
import Formats
import FoundationEssentials
import HTTPService
import TrustStores
import Vocabulary

/// Grants promotions, once for each device.
struct PromotionHandler: Handler {
    let parts: ServiceParts

    var routes: [Route] {
        [
            Route(
                "claimPromotion", "POST", "/v1/apps/{app}/promotions/{name}/claim", .app, asksApple: true,
                claimPromotion),
            Route(
                "claimPromotionForServer", "POST", "/v1/promotions/{name}/claim", .server, asksApple: true,
                claimPromotionForServer),
        ]
    }

    /// How long one holder may take to decide a claim before another may try.
    static let claimLease = Duration.seconds(15)
    /// How long a holder talks with Apple: shorter than its lease, so that it never decides what is another's by then.
    static let claimTalk = Duration.seconds(12)

    /// How long one claim keeps all others of its subject waiting, whatever their promotion is: a talk, and what the store takes before it.
    static let bitsLease = Duration.seconds(20)

    /// `POST /v1/apps/{app}/promotions/{name}/claim`: the app proves itself by an assertion over the whole claim.
    @Sendable private func claimPromotion(_ call: Call) async throws -> Answer {
        let app = try parts.apps.app(call)
        let rule = try parts.device.rule(call)
        let presented = try PresentedAssertion(try RequestBody(call.body))
        let signed = try PromotionHandler.signedClaim(presented.clientData)
        guard signed.promotion.hasSameBytes(as: rule.meaning.name) else {
            throw Problem(.requestMalformed, evidence: "the client data names another promotion")
        }
        return try await parts.modes.judged(app, call, keyId: presented.keyId) {
            // What can be known before the assertion is spent is asked before.
            try await parts.proofs.accept(presented, app, call) { judged in
                let environments = [AttestationEnvironment(rawValue: judged.key.environment) ?? .production]
                _ = try parts.device.client(environment: judged.key.environment)
                return .success(
                    (environments, try claim(rule, app, parts.users.grantee(judged.key.id), signed.transactionId)))
            }.then { environments, claim in
                .success(try await decide(claim, rule, signed.tokens, environments, call))
            }
        }
    }

    /// `POST /v1/promotions/{name}/claim`: a backend has its own proof of the user.
    @Sendable private func claimPromotionForServer(_ call: Call) async throws -> Answer {
        let rule = try parts.device.rule(call)
        let body = try RequestBody(call.body)
        let app = try parts.apps.app(try body.string("app", limit: 256), call, as: .server)
        let subject = try subject(body)
        let tokens = try DeviceTokens(body.value("deviceTokens"))
        let claim = try claim(rule, app, subject, try body.string("transactionId", limit: 128))
        let environments = try parts.device.environments(
            named: try body.optionalString("environment", limit: 16), of: app)
        _ = try parts.device.client(environment: app.deviceTokenEnvironment)
        var answer = try await decide(claim, rule, tokens, environments, call)
        answer.target = .promotion(rule.meaning.name, app: app.settings.id)
        return answer
    }

    /// For whom a backend claims: `user` or `keyId`, at most one of them.
    private func subject(_ body: RequestBody) throws(Problem) -> PromotionSubject {
        let user = try body.user()
        guard body.value("keyId") != nil else {
            guard let user else { return .unnamed }
            guard let subject = parts.users.grantee(user) else {
                throw Problem(.requestMalformed, evidence: "user is too long")
            }
            return subject
        }
        guard user == nil else { throw Problem(.requestMalformed, evidence: "user and keyId cannot be combined") }
        return parts.users.grantee(try body.keyId())
    }

    private func claim(
        _ rule: PromotionRule, _ app: ServedApp, _ subject: PromotionSubject, _ transactionId: String
    ) throws(Problem) -> PromotionClaim {
        let name = rule.meaning.name
        guard
            let claim = PromotionClaim(
                promotion: name, app: app.settings.id, subject: subject, transactionId: transactionId)
        else { throw Problem(.requestMalformed, evidence: "transactionId contains a zero byte") }
        return claim
    }

    /// What the client data of a claim says beside the challenge.
    private static func signedClaim(
        _ clientData: [UInt8]
    ) throws(Problem) -> (promotion: String, transactionId: String, tokens: DeviceTokens) {
        let body = try RequestBody(clientData, limits: .clientData)
        return (
            try body.string("promotion", limit: 64), try body.string("transactionId", limit: 128),
            try DeviceTokens(body.value("deviceTokens"))
        )
    }

    /// Decides a claim while no other claim of its subject is decided: an update writes both bits of a device, so a claim of another promotion
    /// that has read before would take this one's bit back.
    ///
    /// The right is a claim too, of a promotion that no bit can have. If nobody learned what Apple did, it ends with its time.
    private func decide(
        _ claim: PromotionClaim, _ rule: PromotionRule, _ tokens: DeviceTokens,
        _ environments: [AttestationEnvironment], _ call: Call
    ) async throws -> Answer {
        guard claim.subject.isLimited,
            let right = PromotionClaim(promotion: "*", app: claim.app, subject: claim.subject, transactionId: "bits")
        else { return try await decideAlone(claim, rule, tokens, environments, call) }
        let standing = try await parts.store.reserve(
            right, tokens: PromotionTokens(reading: "", writing: ""), countingGrantsFrom: .distantFuture,
            for: PromotionHandler.bitsLease, at: call.now)
        switch standing {
        case .reserved(let reservation):
            let answer: Answer
            do {
                answer = try await decideAlone(claim, rule, tokens, environments, call)
            } catch {
                let isSettled =
                    (error as? DeviceCheckFault)?.isDefinite ?? ((error as? Problem)?.code == .promotionPending)
                if isSettled { try? await parts.store.release(reservation, at: parts.sources.now()) }
                throw error
            }
            // Decided and stored: what fails now only makes others wait.
            try? await parts.store.release(reservation, at: parts.sources.now())
            return answer
        case .pending(let until): throw PromotionHandler.pending(until: until, call)
        case .answered, .alreadyGranted:
            throw Problem(.internalError, evidence: "the store answers a claim that nobody decides")
        }
    }

    private static func pending(until: Date, _ call: Call) -> Problem {
        Problem(
            .promotionPending, retryAfterSeconds: Problem.seconds(until: until, from: call.now),
            evidence: "the claim is being decided")
    }

    /// Decides a claim once: whoever asks again with the same transaction id gets the stored answer.
    private func decideAlone(
        _ claim: PromotionClaim, _ rule: PromotionRule, _ tokens: DeviceTokens,
        _ environments: [AttestationEnvironment], _ call: Call
    ) async throws -> Answer {
        let standing = try await parts.store.reserve(
            claim, tokens: PromotionTokens(reading: tokens.read, writing: tokens.write),
            countingGrantsFrom: rule.grantsCount(from: call.now), for: PromotionHandler.claimLease, at: call.now)
        switch standing {
        case .answered(let answer): return PromotionHandler.promotionAnswer(answer)
        case .alreadyGranted(let instant): return alreadyGranted(at: instant)
        case .pending(let until): throw PromotionHandler.pending(until: until, call)
        case .reserved(let reservation):
            let (outcome, environment) = try await talk(reservation, rule, tokens, environments, call)
            var isGranted = false
            if case .granted = outcome { isGranted = true }
            let answer = PromotionAnswer(bytes: outcome.document(environment), isGranted: isGranted)
            switch try await parts.store.answer(reservation, with: answer, at: parts.sources.now()) {
            case .alreadyGranted(let instant): return alreadyGranted(at: instant)
            case .answered(let standing):
                if standing == answer.bytes { count(outcome) }
                return PromotionHandler.promotionAnswer(standing)
            }
        }
    }

    /// Talks with Apple; gives the right to decide back if Apple refuses for good.
    private func talk(
        _ reservation: PromotionReservation, _ rule: PromotionRule, _ tokens: DeviceTokens,
        _ environments: [AttestationEnvironment], _ call: Call
    ) async throws -> (PromotionExchange.Outcome, AttestationEnvironment) {
        do {
            return try await withDeadline(PromotionHandler.claimTalk) {
                let (read, client, environment) = try await parts.device.first(environments) {
                    try await $0.query(
                        deviceToken: tokens.read, transactionId: reservation.claim.transactionId, at: call.now)
                }
                let exchange = PromotionExchange(
                    client: client, rule: rule, tokens: tokens, transactionId: reservation.claim.transactionId,
                    now: call.now)
                let outcome = try await exchange.run(read, after: reservation.note.flatMap(ClaimNote.init)) { note in
                    guard try await parts.store.note(note.text, on: reservation) else {
                        throw Problem(
                            .promotionPending, retryAfterSeconds: 1, evidence: "another request is deciding the claim")
                    }
                }
                return (outcome, environment)
            }
        } catch let fault as DeviceCheckFault where fault.isDefinite {
            // A note never outlives a definite refusal: what it announced did not happen.
            parts.observer.count(.promotionsRefused, [("reason", "apple")])
            try await parts.store.release(reservation, at: parts.sources.now())
            throw fault
        } catch is DeadlineFault {
            parts.observer.count(.promotionsUndecided)
            let seconds = Int(PromotionHandler.claimLease / .seconds(1))
            throw Problem(.appleUnavailable, retryAfterSeconds: seconds, evidence: "Apple took too long")
        } catch {
            parts.observer.count(.promotionsUndecided)
            throw error
        }
    }

    private func count(_ outcome: PromotionExchange.Outcome) {
        switch outcome {
        case .granted: parts.observer.count(.promotionsGranted)
        case .refused(let reason, _): parts.observer.count(.promotionsRefused, [("reason", reason.rawValue)])
        }
    }

    private func alreadyGranted(at instant: Date) -> Answer {
        parts.observer.count(.promotionsRefused, [("reason", "subject-had-it")])
        let month = YearMonth(containing: instant).description
        return PromotionHandler.promotionAnswer(
            PromotionExchange.Outcome.refused(reason: .hadIt, lastUpdate: month).document(nil))
    }

    private static func promotionAnswer(_ bytes: [UInt8]) -> Answer {
        Answer(status: 200, contentType: "application/json", body: bytes)
    }
}

extension PromotionExchange.Outcome {
    /// What the caller is told, and every repeat of its claim.
    ///
    /// - Parameter environment: whose bits were asked; nil if Apple was not asked.
    func document(_ environment: AttestationEnvironment?) -> [UInt8] {
        let document: JSONValue =
            switch self {
            case .granted(let first, let lastUpdate):
                ["granted": true, "firstClaim": .bool(first), "lastUpdate": .optional(lastUpdate)]
            case .refused(_, let lastUpdate):
                ["granted": false, "firstClaim": false, "lastUpdate": .optional(lastUpdate)]
            }
        let place = environment.map { [JSONValue.Member("environment", .string($0.rawValue))] } ?? []
        return Array(document.adding(place).rendered(pretty: false).utf8)
    }
}

extension DeviceBits {
    /// What a sweep keeps. A grant is kept for a year longer than it counts, so that a later `resetAfterMonths` which is longer still finds it; one of a
    /// promotion without a reset, or which is configured no more, for ever.
    func retention(at now: Date) -> Retention {
        var retention = Retention()
        for meaning in registry.meanings where meaning.resetAfterMonths != nil {
            guard let rule = PromotionRule(meaning.name, in: registry) else { continue }
            retention.promotionGrants[meaning.name] = rule.grantsCount(from: now).addingTimeInterval(-366 * 86_400)
        }
        return retention
    }
}

extension PromotionRule {
    /// Grants before this instant count no more, because the promotion's bit has been reset since: the rule by which the bit itself is read.
    func grantsCount(from now: Date) -> Date {
        guard let months = meaning.resetAfterMonths else { return .distantPast }
        let today = CivilDate(containing: now)
        // A bit of this month counts as clear now if it was set that many months ago, whatever the day: counted is from the month after it.
        let next = max(0, today.year * 12 + today.month - months)
        return CivilDate(year: next / 12, month: next % 12 + 1, day: 1).instant(hour: 0, minute: 0, second: 0)
    }
}
