// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import Findings
import Foundation
import StrictJSON
import TrustPolicy
import TrustStores

/// What gateways and backends ask about tokens, and the keys to check them with.
struct TokenHandler: Handler {
    let store: any TrustStore
    let live: LiveBook
    let trusted: TrustedKeys

    private var tokens: TokenAuthority { live.current.tokens }

    var routes: [Route] {
        [
            Route("authorize", "GET", "/v1/authorize", .open, authorize),
            Route("keySet", "GET", "/.well-known/jwks.json", .open) { _ in keySet(simulated: false) },
            Route("simulatedKeySet", "GET", "/simulator/.well-known/jwks.json", .open) { _ in keySet(simulated: true) },
            Route("consumeToken", "POST", "/v1/tokens/consume", .server, consume),
        ]
    }

    /// `GET /v1/authorize`: what a gateway asks for each request. No body; the verdict is the status.
    @Sendable private func authorize(_ call: Call) async throws -> Answer {
        let wanted = try AuthorizationQuery(call.query)
        guard let bearer = call.bearer else { throw Problem("token.missing") }
        let claims = try await tokens.read(bearer, at: call.now)
        guard claims.singleUse != true else { throw Problem("token.invalid", evidence: "a single-use token") }
        guard !claims.sim || wanted.allowsSimulated else {
            throw Problem("token.invalid", evidence: "a simulated device's token")
        }
        let key = try await usableKey(of: claims)
        if let apps = wanted.apps, !apps.contains(UTF8Key(key.app)) { throw Problem("policy.app") }
        if let environment = wanted.environment, environment.rawValue != key.environment {
            throw Problem("policy.environment")
        }
        if let needs = wanted.tier {
            guard let has = TrustTier(rawValue: claims.tier), has >= needs else { throw Problem("policy.tier") }
        }
        var answer = Answer.empty(204)
        answer.headers = [
            (.sealwardApp, claims.sub), (.sealwardKey, claims.key), (.sealwardTier, claims.tier),
            (.sealwardEnvironment, claims.env),
        ]
        return answer
    }

    /// `POST /v1/tokens/consume`: a single-use token passes once, on any number of nodes.
    @Sendable private func consume(_ call: Call) async throws -> Answer {
        let token = try RequestBody(call.body).string("token")
        let claims = try await tokens.read(token, at: call.now)
        guard claims.singleUse == true else { throw Problem("token.not-single-use") }
        let key = try await usableKey(of: claims)
        guard call.caller.permits(.server, app: key.app) else {
            throw Problem("caller.unauthorized", evidence: "the credential is for other apps")
        }
        let expiry = Date(timeIntervalSince1970: Double(claims.exp))
        switch try await store.consume(SingleUseToken(id: claims.jti, expiresAt: expiry), at: call.now) {
        case .spent: break
        case .alreadyUsed: throw Problem("token.spent")
        case .expired: throw Problem("token.invalid", evidence: "expired")
        }
        return .json([
            "sub": .string(claims.sub), "key": .string(claims.key), "tier": .string(claims.tier),
            "jti": .string(claims.jti), "env": .string(claims.env), "sim": .bool(claims.sim),
        ]).about(.key(key.id, app: key.app))
    }

    /// The key of a token, as long as it may be used.
    ///
    /// - Throws: ``Problem`` `token.invalid` for a key that is not stored, is another than the token says, or is not trusted any more;
    ///   `key.revoked`.
    private func usableKey(of claims: TokenClaims) async throws -> StoredKey {
        guard let id = KeyIdentifier(strictBase64: claims.key), let key = try await store.key(id),
            key.simulated == claims.sim, key.identity.hasSameBytes(as: claims.sub), key.environment == claims.env
        else { throw Problem("token.invalid", evidence: "an unknown device key") }
        let trust = try await trusted.trust(in: key)
        guard trust == .trusted else {
            trusted.countDistrust(trust)
            throw Problem("token.invalid", evidence: "the key's \(trust.rawValue) is not configured any more")
        }
        if key.revokedAt != nil { throw Problem("key.revoked") }
        return key
    }

    /// `GET /.well-known/jwks.json` and its twin for simulated devices.
    func keySet(simulated: Bool) -> Answer {
        var answer = Answer.json((simulated ? tokens.simulated : tokens.production).published)
        answer.contentType = "application/jwk-set+json"
        return answer
    }
}
