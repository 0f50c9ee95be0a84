// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Formats
import FoundationEssentials
import HTTPService
import TrustStores
import Vocabulary

/// Gives callers that cannot attest a token that says so.
struct UntrustedTokenHandler: Handler {
    let apps: AppDirectory
    let challenges: ChallengeBook
    let store: any TrustStore
    let live: LiveBook
    let observer: RequestObserver
    let random: @Sendable (Int) -> [UInt8]

    var routes: [Route] {
        [Route("issueUntrustedToken", "POST", "/v1/apps/{app}/tokens/untrusted", .app, issue)]
    }

    /// Why a caller cannot attest, as it says itself. Nothing of it is proved.
    private enum Reason: String, CaseIterable {
        case unsupported, `extension`, simulator, ramp
    }

    /// `POST /v1/apps/{app}/tokens/untrusted`.
    @Sendable private func issue(_ call: Call) async throws -> Answer {
        let app = try apps.app(call)
        let body = try RequestBody(call.body)
        let text = try body.string("reason", limit: 16)
        guard let reason = Reason.allCases.first(where: { $0.rawValue.hasSameBytes(as: text) }) else {
            throw Problem(.requestMalformed, evidence: "reason must be unsupported, extension, simulator or ramp")
        }
        let challenge = try body.bytes("challenge")
        if app.settings.mode == .off { return .unjudged }
        guard app.settings.untrusted == .allow else { throw Problem(.policyUntrusted) }
        try await spend(challenge, app, at: call.now)
        let issued = try live.current.tokens.issueUntrusted(
            for: app, reason: reason.rawValue, identifier: random(16), at: call.now)
        observer.count(.tokensUntrusted, [("reason", reason.rawValue)])
        return .json([
            "token": .string(issued.token), "expiresIn": .integer(issued.expiresIn),
            "reasons": [.string(reason.rawValue)],
        ])
    }

    /// Spends a challenge of either purpose, once over all nodes: a token costs a request of its own.
    private func spend(_ challenge: [UInt8], _ app: ServedApp, at now: Date) async throws {
        var reading = challenges.current.read(
            challenge, for: ChallengeBinding(purpose: .assert, app: app.settings.id), at: now)
        if reading == .refused(.binding) {
            reading = challenges.current.read(
                challenge, for: ChallengeBinding(purpose: .attest, app: app.settings.id), at: now)
        }
        let spendable: SpendableChallenge
        switch reading {
        case .valid(let challenge): spendable = challenge
        case .refused(let refusal): throw Problem(refusal.code)
        }
        let name = SingleUseToken(
            id: "untrusted:\(Base64.encodeURL(spendable.id))", expiresAt: spendable.expiresAt)
        switch try await store.consume(name, at: now) {
        case .spent: return
        case .alreadyUsed: throw Problem(.challengeUsed)
        case .expired: throw Problem(.challengeExpired)
        }
    }
}
