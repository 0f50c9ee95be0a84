// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import Findings
import Foundation
import HTTPTypes
import StrictJSON
import TrustPolicy
import TrustStores

/// What gateways and backends ask about tokens, and the keys to check them with.
struct TokenHandler: Handler {
    let store: any TrustStore
    let live: LiveBook
    let trusted: TrustedKeys
    /// nil if the interface of App Check is off.
    let appCheck: AppCheckBearers?
    let quotas: Quotas

    private var tokens: TokenAuthority { live.current.tokens }

    var routes: [Route] {
        TokenHandler.authorizeMethods.map { Route("authorize", $0, "/v1/authorize", .open, authorize) } + [
            Route("keySet", "GET", "/.well-known/jwks.json", .open) { _ in keySet(simulated: false) },
            Route("simulatedKeySet", "GET", "/simulator/.well-known/jwks.json", .open) { _ in keySet(simulated: true) },
            Route("consumeToken", "POST", "/v1/tokens/consume", .server, consume),
        ]
    }

    /// Some gateways ask with the method of the client's request: all that carry requests of an app are answered as `GET` is.
    private static let authorizeMethods = ["GET", "POST", "PUT", "PATCH", "DELETE"]

    /// `GET /v1/authorize`: what a gateway asks for each request. No body; the verdict is the status.
    @Sendable private func authorize(_ call: Call) async throws -> Answer {
        let wanted = try AuthorizationQuery(call.query)
        // What is wrong with the gateway's own words is said first, whoever asks.
        var draft: Quotas.Draft?
        if let name = wanted.quota { draft = try quotas.draft(name, call.headers) }
        let bearer = try await bearer(call)
        guard !bearer.simulated || wanted.allowsSimulated else {
            throw Problem(.tokenInvalid, evidence: "a simulated device's token")
        }
        guard !bearer.isDebug || wanted.allowsDebug else { throw Problem(.tokenInvalid, evidence: "a debug token") }
        if let apps = wanted.apps, !apps.contains(UTF8Key(bearer.app)) { throw Problem(.policyApp) }
        // A debug token stands for no device, so it is of no environment of App Attest.
        if let environment = wanted.environment, !bearer.isDebug, environment.rawValue != bearer.environment {
            throw Problem(.policyEnvironment)
        }
        if let needs = wanted.tier {
            guard let has = TrustTier(rawValue: bearer.tier), has >= needs else { throw Problem(.policyTier) }
        }
        var answer = Answer.empty(wanted.success)
        answer.headers = [
            (.sealwardApp, bearer.identity), (.sealwardKey, bearer.key), (.sealwardTier, bearer.tier),
            (.sealwardEnvironment, bearer.environment),
        ]
        // The last of all: what is refused costs nothing.
        if let draft {
            let remaining = try await quotas.draw(draft, for: bearer, at: call.now)
            answer.headers.append((.sealwardQuotaRemaining, String(remaining)))
        }
        return answer
    }

    /// Who asks: the holder of a token of this service, or of an App Check token of it.
    private func bearer(_ call: Call) async throws -> TokenBearer {
        let appCheckTokens = appCheck == nil ? [] : call.headers[values: .firebaseAppCheck]
        guard let appCheck, let token = appCheckTokens.first else {
            guard let token = call.bearer else { throw Problem(.tokenMissing) }
            let claims = try await tokens.read(token, at: call.now)
            guard claims.singleUse != true else { throw Problem(.tokenInvalid, evidence: "a single-use token") }
            return TokenBearer(try await usableKey(of: claims), tier: claims.tier)
        }
        guard appCheckTokens.count == 1, call.bearer == nil else {
            throw Problem(.requestMalformed, evidence: "more than one token")
        }
        return try await appCheck.bearer(of: token, at: call.now).bearer
    }

    /// `POST /v1/tokens/consume`: a single-use token passes once, on any number of nodes.
    @Sendable private func consume(_ call: Call) async throws -> Answer {
        let token = try RequestBody(call.body).string("token")
        let claims = try await tokens.read(token, at: call.now)
        guard claims.singleUse == true else { throw Problem(.tokenNotSingleUse) }
        let key = try await usableKey(of: claims)
        guard call.caller.permits(.server, app: key.app) else {
            throw Problem(.callerUnauthorized, evidence: "the credential is for other apps")
        }
        let expiry = Date(timeIntervalSince1970: Double(claims.exp))
        switch try await store.consume(SingleUseToken(id: claims.jti, expiresAt: expiry), at: call.now) {
        case .spent: break
        case .alreadyUsed: throw Problem(.tokenSpent)
        case .expired: throw Problem(.tokenInvalid, evidence: "expired")
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
        let key = try await trusted.key(ofToken: claims.key, environment: claims.env, simulated: claims.sim)
        guard key.identity.hasSameBytes(as: claims.sub) else {
            throw Problem(.tokenInvalid, evidence: "an unknown device key")
        }
        return key
    }

    /// `GET /.well-known/jwks.json` and its twin for simulated devices.
    func keySet(simulated: Bool) -> Answer {
        var answer = Answer.json((simulated ? tokens.simulated : tokens.production).published)
        answer.contentType = "application/jwk-set+json"
        return answer
    }
}
