// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import Findings
import Foundation
import TrustPolicy
import TrustStores

extension ServiceCore {
    /// `GET /v1/authorize`: what a gateway asks for each request. No body; the verdict is the status.
    func authorize(_ call: Call) async throws -> Answer {
        guard let bearer = call.bearer else { throw Problem("token.missing") }
        let claims = try await tokens.read(bearer, at: call.now)
        guard claims.singleUse != true else { throw Problem("token.invalid", evidence: "a single-use token") }
        guard !claims.sim || call.queryValue("simulated") == "allow" else {
            throw Problem("token.invalid", evidence: "a simulated device's token")
        }
        try await notRevoked(claims)
        if let wanted = call.queryValue("tier") {
            guard let has = TrustTier(rawValue: claims.tier), let needs = TrustTier(rawValue: wanted), has >= needs
            else {
                throw Problem("policy.tier")
            }
        }
        var answer = Answer.empty(204)
        answer.headers = [
            (.sealwardApp, claims.sub), (.sealwardKey, claims.key), (.sealwardTier, claims.tier),
            (.sealwardEnvironment, claims.env),
        ]
        return answer
    }

    /// `POST /v1/tokens/consume`: a single-use token passes once, on any number of nodes.
    func consume(_ call: Call) async throws -> Answer {
        let token = try RequestBody(call.body).string("token")
        let claims = try await tokens.read(token, at: call.now)
        guard claims.singleUse == true else { throw Problem("token.not-single-use") }
        try await notRevoked(claims)
        let expiry = Date(timeIntervalSince1970: Double(claims.exp))
        switch try await store.consume(SingleUseToken(id: claims.jti, expiresAt: expiry), at: call.now) {
        case .spent: break
        case .alreadyUsed: throw Problem("token.spent")
        case .expired: throw Problem("token.invalid", evidence: "expired")
        }
        return .json([
            "sub": .string(claims.sub), "key": .string(claims.key), "tier": .string(claims.tier),
            "jti": .string(claims.jti), "env": .string(claims.env), "sim": .bool(claims.sim),
        ])
    }

    private func notRevoked(_ claims: TokenClaims) async throws {
        guard let id = KeyIdentifier(strictBase64: claims.key), let key = try await store.key(id) else {
            throw Problem("token.invalid", evidence: "an unknown device key")
        }
        if key.revokedAt != nil { throw Problem("key.revoked") }
    }

    /// `GET /.well-known/jwks.json` and its twin for simulated devices.
    func keySet(simulated: Bool) -> Answer {
        var answer = Answer.json((simulated ? tokens.simulated : tokens.production).published)
        answer.contentType = "application/jwk-set+json"
        return answer
    }
}
