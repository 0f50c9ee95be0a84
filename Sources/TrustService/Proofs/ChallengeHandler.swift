// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Findings
import Foundation
import TrustStores

extension ServiceCore {
    /// `POST /v1/apps/{app}/challenges`: nothing is stored.
    func issueChallenge(_ call: Call) async throws -> Answer {
        let app = try app(call)
        let body = try RequestBody(call.body)
        let purpose: ChallengePurpose
        switch try body.string("purpose", limit: 16) {
        case "attest": purpose = .attest
        case "assert": purpose = .assert
        default: throw Problem("request.malformed", evidence: "purpose must be attest or assert")
        }
        var binding = ChallengeBinding(purpose: purpose, app: app.settings.id)
        if body.value("keyId") != nil { binding.keyId = try ServiceCore.keyId(body) }
        if let user = try ServiceCore.user(body) {
            guard call.caller.permits(.server, app: app.settings.id) else {
                throw Problem("caller.unauthorized", evidence: "user needs a server token")
            }
            binding.user = user
        }
        let ttl = configuration.challenges.ttl.inSeconds
        let expiresAt = call.now.addingTimeInterval(ttl)
        let challenge = codec.issue(
            for: binding,
            expiresAt: expiresAt,
            random: sources.random(ChallengeCodec.randomLength)
        )
        observer.count("challenges.issued")
        return .json(
            [
                "challenge": .string(Base64.encode(challenge)), "expiresAt": .string(Timestamps.text(expiresAt)),
                "ttlSeconds": .integer(Int(ttl)),
            ],
            status: 201
        )
    }
}
