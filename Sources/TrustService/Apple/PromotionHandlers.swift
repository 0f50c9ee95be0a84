// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import AppleServices
import DeviceCheckBits
import Findings
import Foundation
import TrustStores

extension ServiceCore {
    /// How long one holder may take to decide a claim before another may try.
    static let claimLease = Duration.seconds(15)

    /// `POST /v1/apps/{app}/promotions/{name}/claim`: the app proves itself by an assertion over the whole claim.
    func claimPromotion(_ call: Call) async throws -> Answer {
        let app = try app(call)
        let rule = try rule(call)
        let presented = try PresentedAssertion(try RequestBody(call.body))
        let signed = try ServiceCore.signedClaim(presented.clientData)
        guard signed.promotion == rule.meaning.name else {
            throw Problem("request.malformed", evidence: "the client data names another promotion")
        }
        if app.settings.mode == .off { return .json(ServiceCore.unjudged) }
        return try await judged(app, call, keyId: presented.keyId, kind: "promotion") {
            let accepted = try await accept(presented, app, call)
            let claim = PromotionClaim(
                promotion: rule.meaning.name,
                app: app.settings.id,
                subject: accepted.key.id.base64,
                transactionId: signed.transactionId
            )
            return try await decide(claim, rule, signed.deviceTokens, environment: accepted.key.environment, call)
        }
    }

    /// `POST /v1/promotions/{name}/claim`: a backend has its own proof of the user.
    func claimPromotionForServer(_ call: Call) async throws -> Answer {
        let rule = try rule(call)
        let body = try RequestBody(call.body)
        let app = try app(try body.string("app", limit: 256), call)
        let claim = PromotionClaim(
            promotion: rule.meaning.name,
            app: app.settings.id,
            subject: "server",
            transactionId: try body.string("transactionId", limit: 128)
        )
        let tokens = try ServiceCore.deviceTokens(body.value("deviceTokens"))
        return try await decide(claim, rule, tokens, environment: ServiceCore.environment(of: app), call)
    }

    private func rule(_ call: Call) throws(Problem) -> PromotionRule {
        guard let name = call.parameters["name"], let rule = PromotionRule(name, in: try registry()) else {
            throw Problem("promotion.unknown")
        }
        return rule
    }

    /// What the client data of a claim says beside the challenge.
    private struct SignedClaim {
        let promotion: String
        let transactionId: String
        let deviceTokens: [String]
    }

    private static func signedClaim(_ clientData: [UInt8]) throws(Problem) -> SignedClaim {
        let body = try RequestBody(clientData)
        return SignedClaim(
            promotion: try body.string("promotion", limit: 64),
            transactionId: try body.string("transactionId", limit: 128),
            deviceTokens: try deviceTokens(body.value("deviceTokens"))
        )
    }

    private static func deviceTokens(_ value: JSONValue?) throws(Problem) -> [String] {
        guard case .array(let elements)? = value, elements.count == 2 else {
            throw Problem("request.malformed", evidence: "deviceTokens must hold two tokens")
        }
        let tokens = elements.compactMap(\.text)
        guard tokens.count == 2 else {
            throw Problem("request.malformed", evidence: "deviceTokens must hold two texts")
        }
        guard tokens.allSatisfy(DeviceCheckRequest.isToken) else { throw Problem("deviceToken.invalid") }
        return tokens
    }

    /// Decides a claim once: whoever asks again with the same transaction id gets the stored answer.
    private func decide(
        _ claim: PromotionClaim,
        _ rule: PromotionRule,
        _ deviceTokens: [String],
        environment: String,
        _ call: Call
    ) async throws -> Answer {
        switch try await store.reserve(claim, for: ServiceCore.claimLease, at: call.now) {
        case .answered(let answer): return Answer(status: 200, contentType: "application/json", body: answer)
        case .pending(let until):
            let seconds = max(1, Int(until.timeIntervalSince(call.now).rounded(.up)))
            throw Problem("apple.unavailable", retryAfterSeconds: seconds, evidence: "the claim is being decided")
        case .reserved(let reservation):
            let document = try await ask(reservation, rule, deviceTokens, environment, call)
            let bytes = Array(document.rendered(pretty: false).utf8)
            let standing = try await store.answer(reservation, with: bytes, at: call.now)
            return Answer(status: 200, contentType: "application/json", body: standing)
        }
    }

    private func ask(
        _ reservation: PromotionReservation,
        _ rule: PromotionRule,
        _ deviceTokens: [String],
        _ environment: String,
        _ call: Call
    ) async throws -> JSONValue {
        guard let readToken = deviceTokens.first, let writeToken = deviceTokens.last else {
            throw Problem("request.malformed")
        }
        let client = try deviceCheckClient(environment: environment)
        let transaction = reservation.claim.transactionId
        let state = try await client.query(deviceToken: readToken, transactionId: transaction, at: call.now)
        let month = YearMonth(containing: call.now)
        func answer(granted: Bool, first: Bool, lastUpdate: String?) -> JSONValue {
            ["granted": .bool(granted), "firstClaim": .bool(first), "lastUpdate": .optional(lastUpdate)]
        }
        switch rule.decide(state, now: month) {
        case .refuse:
            // An earlier holder of this very claim was about to set the bit when it vanished: the bit is its own.
            if let note = reservation.note, let plan = ClaimNote(note) {
                return answer(granted: true, first: plan.first, lastUpdate: plan.lastUpdate)
            }
            return answer(granted: false, first: false, lastUpdate: state.lastUpdate?.description)
        case .grant(let bits, let first):
            let plan = ClaimNote(first: first, lastUpdate: state.lastUpdate?.description)
            guard try await store.note(plan.text, on: reservation) else {
                throw Problem("apple.unavailable", retryAfterSeconds: 1, evidence: "another holder decides the claim")
            }
            try await client.update(bits, deviceToken: writeToken, transactionId: transaction, at: call.now)
            observer.count("promotions.granted")
            return answer(granted: true, first: first, lastUpdate: state.lastUpdate?.description)
        }
    }
}

/// What a holder leaves behind before it sets a bit: the answer that it would give.
struct ClaimNote: Equatable {
    let first: Bool
    let lastUpdate: String?

    init(first: Bool, lastUpdate: String?) {
        self.first = first
        self.lastUpdate = lastUpdate
    }

    init?(_ text: String) {
        let parts = text.split(separator: " ")
        guard parts.count == 3, parts[0] == "writing" else { return nil }
        first = parts[1] == "first"
        lastUpdate = parts[2] == "-" ? nil : String(parts[2])
    }

    var text: String { "writing \(first ? "first" : "again") \(lastUpdate ?? "-")" }
}
