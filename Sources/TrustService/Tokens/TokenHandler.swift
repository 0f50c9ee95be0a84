// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import Formats
import FoundationEssentials
import HTTPService
import HTTPTypes
import TrustStores
import TrustTokens
import Vocabulary

/// What gateways and backends ask about tokens, and the keys to check them with.
struct TokenHandler: Handler {
    let parts: ServiceParts

    private var hasAppCheck: Bool { parts.configuration.appCheck != nil }
    var tokens: TokenAuthority { parts.live.current.tokens }

    var routes: [Route] {
        TokenHandler.authorizeMethods.map { Route("authorize", $0, "/v1/authorize", .open, authorize) } + [
            Route("keySet", "GET", "/.well-known/jwks.json", .open) { _ in keySet(tokens.production) },
            Route("simulatedKeySet", "GET", "/simulator/.well-known/jwks.json", .open) { _ in keySet(tokens.simulated)
            },
            Route("untrustedKeySet", "GET", "/untrusted/.well-known/jwks.json", .open) { _ in keySet(tokens.untrusted)
            },
            Route("consumeToken", "POST", "/v1/tokens/consume", .server, consume),
        ]
    }

    /// Some gateways ask with the method of the client's request: all that carry requests of an app are answered as `GET` is.
    private static let authorizeMethods = ["GET", "POST", "PUT", "PATCH", "DELETE"]

    /// `GET /v1/authorize`: what a gateway asks for each request. No body; the verdict is the status.
    @Sendable private func authorize(_ call: Call) async throws -> Answer {
        let wanted = try AuthorizationQuery(call.query, observing: parts.configuration.observe.routes)
        // What is wrong with the gateway's own words is said first, whoever asks.
        var draft: Quotas.Draft?
        if let name = wanted.quota { draft = try parts.quotas.draft(name, call.headers) }
        if let route = wanted.observedRoute { return await observed(call, wanted, route) }
        let token = try await presented(call)
        try wanted.terms.judge(token)
        let bearer = token.bearer
        if let draft, draft.quota.requireUser, bearer.user == nil { throw Problem(.policyUser) }
        if wanted.terms.spends { try await spend(token, at: call.now) }
        var answer = Answer.empty(wanted.success)
        answer.headers = [
            (.sealwardApp, bearer.identity), (.sealwardKey, bearer.key), (.sealwardTier, bearer.tier),
            (.sealwardEnvironment, bearer.environment),
        ]
        // The last of all: what is refused costs nothing.
        if let draft {
            let remaining = try await parts.quotas.draw(draft, for: bearer, at: call.now)
            answer.headers.append((.sealwardQuotaRemaining, String(remaining)))
        }
        return answer
    }

    /// The token of a request: one of this service, or an App Check token of it.
    func presented(_ call: Call) async throws -> GoodToken {
        let appCheckTokens = hasAppCheck ? call.headers[values: .firebaseAppCheck] : []
        guard let token = appCheckTokens.first else {
            guard let token = call.bearer else { throw Problem(.tokenMissing) }
            return try await native(token, call)
        }
        guard appCheckTokens.count == 1, call.bearer == nil else {
            throw Problem(.requestMalformed, evidence: "more than one token")
        }
        return try await parts.appCheckToken(token, at: call.now)
    }

    /// A token of this service that is good now.
    private func native(_ text: String, _ call: Call) async throws -> GoodToken {
        let claims = try tokens.read(text, at: call.now)
        return GoodToken(
            bearer: try await bearer(claims, call), jti: claims.identifier, reasons: claims.reasons,
            isSingleUse: claims.isSingleUse,
            spending: SingleUseToken(id: claims.identifier, expiresAt: claims.life.end))
    }

    private func bearer(_ claims: TokenClaims, _ call: Call) async throws -> TokenBearer {
        guard let id = claims.key else {
            // Under settings of now: an app that refuses such callers again refuses their tokens too.
            guard
                let app = parts.live.current.apps.values.first(where: {
                    $0.settings.appIds.contains { $0.hasSameBytes(as: claims.app) }
                })
            else { throw Problem(.tokenInvalid, evidence: "an unknown app") }
            guard app.settings.untrusted == .allow else { throw Problem(.policyUntrusted) }
            return TokenBearer(untrusted: app, identity: claims.app, address: call.address)
        }
        let key = try await parts.trusted.key(
            ofToken: id, environment: claims.environment, simulated: claims.isSimulated)
        guard key.identity.hasSameBytes(as: claims.app) else {
            throw Problem(.tokenInvalid, evidence: "an unknown device key")
        }
        return TokenBearer(key, tier: claims.tier)
    }

    /// `POST /v1/tokens/consume`: a single-use token, or a limited-use one of App Check, passes once, on any number of nodes.
    @Sendable private func consume(_ call: Call) async throws -> Answer {
        let body = try RequestBody(call.body)
        let text = try body.string("token")
        var terms = TokenTerms()
        terms.spends = true
        for (member, name) in [("app", "app"), ("environment", "env"), ("simulated", "simulated"), ("debug", "debug")] {
            if let value = try body.optionalString(member, limit: 4096) { try terms.take(UTF8Key(name), value) }
        }
        let isOfAppCheck = hasAppCheck && (try? CompactToken(text, algorithm: AppCheckTokens.algorithm)) != nil
        let token = try await isOfAppCheck ? parts.appCheckToken(text, at: call.now) : native(text, call)
        let bearer = token.bearer
        try call.caller.require(.server, app: bearer.app)
        try terms.judge(token)
        try await spend(token, at: call.now)
        return .json([
            "sub": .string(bearer.identity), "key": .string(bearer.key), "tier": .string(bearer.tier),
            "reasons": .array(token.reasons.map(JSONValue.string)), "jti": .string(token.jti),
            "env": .string(bearer.environment), "sim": .bool(bearer.simulated),
        ]).about(KeyIdentifier(strictBase64: bearer.key).map { .key($0, app: bearer.app) } ?? .app(bearer.app))
    }

    /// Spends a token, once over all nodes.
    private func spend(_ token: GoodToken, at now: Date) async throws {
        switch try await parts.store.consume(token.spending, at: now) {
        case .spent: break
        case .alreadyUsed: throw Problem(.tokenSpent)
        case .expired: throw Problem(.tokenInvalid, evidence: "expired")
        }
    }

    /// `GET /.well-known/jwks.json` and its twins for simulated devices and for callers that cannot attest.
    func keySet(_ keys: TokenKeySet) -> Answer {
        var answer = Answer.json(keys.published)
        answer.contentType = "application/jwk-set+json"
        return answer
    }
}
