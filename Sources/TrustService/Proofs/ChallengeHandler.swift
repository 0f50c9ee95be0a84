// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Formats
import FoundationEssentials
import HTTPService
import TrustStores
import Vocabulary

/// Issues challenges; nothing is stored.
struct ChallengeHandler: Handler {
    let apps: AppDirectory
    let challenges: ChallengeBook
    /// How long a challenge is valid.
    let lifetime: Duration
    let users: UserNames
    let sources: SystemSources
    let observer: RequestObserver

    var routes: [Route] { [Route("issueChallenge", "POST", "/v1/apps/{app}/challenges", .app, issue)] }

    /// `POST /v1/apps/{app}/challenges`.
    @Sendable private func issue(_ call: Call) async throws -> Answer {
        let app = try apps.app(call)
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
            binding.user = users.stored(user)
        }
        let ttl = lifetime.inSeconds
        let expiresAt = call.now.addingTimeInterval(ttl)
        let challenge = challenges.current.issue(
            for: binding, expiresAt: expiresAt, random: sources.random(ChallengeCodec.randomLength))
        observer.count(.challengesIssued)
        return .json(
            [
                "challenge": .string(Base64.encode(challenge)), "expiresAt": .string(RFC3339.text(expiresAt)),
                "ttlSeconds": .integer(Int(ttl)),
            ],
            status: 201
        )
    }
}
