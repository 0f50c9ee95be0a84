// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import Formats
import FoundationEssentials
import HTTPService
import TrustStores
import Vocabulary

/// What apps prove, and what they get for it: challenges, keys, and tokens.
struct ProofHandler: Handler {
    let parts: ServiceParts

    var routes: [Route] {
        [
            Route("issueChallenge", "POST", "/v1/apps/{app}/challenges", .app, issueChallenge),
            Route("attest", "POST", "/v1/apps/{app}/attestations", .app, attest),
            Route("assert", "POST", "/v1/apps/{app}/assertions", .app, assert),
            Route("issueToken", "POST", "/v1/apps/{app}/tokens", .app, issueToken),
            Route("issueUntrustedToken", "POST", "/v1/apps/{app}/tokens/untrusted", .app, issueUntrustedToken),
        ]
    }

    /// `POST /v1/apps/{app}/challenges`: nothing is stored.
    @Sendable private func issueChallenge(_ call: Call) async throws -> Answer {
        let app = try parts.apps.app(call)
        let body = try RequestBody(call.body)
        let purpose: ChallengePurpose
        switch try body.string("purpose", limit: 16) {
        case "attest": purpose = .attest
        case "assert": purpose = .assert
        default: throw Problem(.requestMalformed, evidence: "purpose must be attest or assert")
        }
        var binding = ChallengeBinding(purpose: purpose, app: app.settings.id)
        if body.value("keyId") != nil { binding.keyId = try body.keyId() }
        if let user = try body.user() {
            guard call.caller.permits(.server, app: app.settings.id) else {
                throw Problem(.callerUnauthorized, evidence: "user needs a server token")
            }
            binding.user = parts.users.stored(user)
        }
        let ttl = parts.configuration.challenges.ttl / .seconds(1)
        let expiresAt = call.now.addingTimeInterval(ttl)
        let challenge = parts.challenges.current.issue(
            for: binding, expiresAt: expiresAt, random: parts.sources.random(ChallengeCodec.randomLength))
        parts.observer.count(.challengesIssued)
        return .json(
            [
                "challenge": .string(Base64.encode(challenge)), "expiresAt": .string(RFC3339.text(expiresAt)),
                "ttlSeconds": .integer(Int(ttl)),
            ],
            status: 201
        )
    }

    /// `POST /v1/apps/{app}/attestations`: registers a key.
    @Sendable private func attest(_ call: Call) async throws -> Answer {
        let app = try parts.apps.app(call)
        let body = try RequestBody(call.body)
        let presented = PresentedAttestation(
            keyId: try body.keyId(), attestation: try body.bytes("attestation"), challenge: try body.bytes("challenge"),
            clientData: try body.optionalClientData(), user: try body.user().map(parts.users.stored))
        return try await parts.modes.judged(app, call, keyId: presented.keyId) {
            try await parts.proofs.register(presented, app, call).map { registered in
                let key = registered.key
                return .json(
                    [
                        "keyId": .string(key.id.base64), "environment": .string(key.environment),
                        "validationCategory": .optional(key.validationCategory),
                        "bundleVersion": .optional(key.bundleVersion),
                    ],
                    status: registered.isNew ? 201 : 200
                )
            }
        }
    }

    @Sendable private func assert(_ call: Call) async throws -> Answer {
        let app = try parts.apps.app(call)
        let presented = try PresentedAssertion(try RequestBody(call.body))
        return try await parts.modes.judged(app, call, keyId: presented.keyId) {
            try await parts.proofs.accept(presented, app, call) { judged in
                .success(
                    .json(.object([.init("counter", .integer(Int(judged.advance.counter)))] + judged.trust.members)))
            }
        }
    }

    @Sendable private func issueToken(_ call: Call) async throws -> Answer {
        let app = try parts.apps.app(call)
        let body = try RequestBody(call.body)
        let presented = try PresentedAssertion(body)
        let singleUse = try body.optionalFlag("singleUse") ?? false
        return try await parts.modes.judged(app, call, keyId: presented.keyId) {
            // Signed before the commit: what fails afterwards would cost the caller an assertion that counts as spent.
            try await parts.proofs.accept(presented, app, call) { judged -> Judged<Answer> in
                let issued = try parts.live.current.tokens.issue(
                    for: judged.key, trust: judged.trust, singleUse: singleUse, identifier: parts.sources.random(16),
                    at: call.now)
                return .success(ProofHandler.answer(issued, reasons: judged.trust.reasons))
            }.map { answer in
                parts.observer.count(.tokensIssued)
                return answer
            }
        }
    }

    /// Why a caller cannot attest, as it says itself. Nothing of it is proved.
    enum Reason: String, CaseIterable {
        case unsupported, `extension`, simulator, ramp
    }

    /// `POST /v1/apps/{app}/tokens/untrusted`: for callers that cannot attest, a token that says so.
    @Sendable private func issueUntrustedToken(_ call: Call) async throws -> Answer {
        let app = try parts.apps.app(call)
        let body = try RequestBody(call.body)
        let text = try body.string("reason", limit: 16)
        guard let reason = Reason.allCases.map(\.rawValue).first(where: { $0.hasSameBytes(as: text) }) else {
            throw Problem(.requestMalformed, evidence: "reason must be unsupported, extension, simulator or ramp")
        }
        let challenge = try body.bytes("challenge")
        if app.settings.mode == .off { return .unjudged }
        guard app.settings.untrusted == .allow else { throw Problem(.policyUntrusted) }
        try await spend(challenge, app, at: call.now)
        let issued = try parts.live.current.tokens.issueUntrusted(
            for: app, reason: reason, identifier: parts.sources.random(16), at: call.now)
        parts.observer.count(.tokensUntrusted, [("reason", reason)])
        return ProofHandler.answer(issued, reasons: [reason])
    }

    private static func answer(_ issued: TokenAuthority.Issued, reasons: [String]) -> Answer {
        .json([
            "token": .string(issued.token), "expiresIn": .integer(issued.expiresIn),
            "reasons": .array(reasons.map(JSONValue.string)),
        ])
    }

    /// Spends a challenge of either purpose, once over all nodes: a token costs a request of its own.
    private func spend(_ challenge: [UInt8], _ app: ServedApp, at now: Date) async throws {
        func reading(_ purpose: ChallengePurpose) -> ChallengeReading {
            parts.challenges.current.read(
                challenge, for: ChallengeBinding(purpose: purpose, app: app.settings.id), at: now)
        }
        let first = reading(.assert)
        switch first == .failure(.binding) ? reading(.attest) : first {
        case .failure(let refusal): throw Problem(refusal.code)
        case .success(let challenge):
            let name = SingleUseToken(
                id: "untrusted:\(Base64.encodeURL(challenge.id))", expiresAt: challenge.expiresAt)
            switch try await parts.store.consume(name, at: now) {
            case .spent: return
            case .alreadyUsed: throw Problem(.challengeUsed)
            case .expired: throw Problem(.challengeExpired)
            }
        }
    }
}
