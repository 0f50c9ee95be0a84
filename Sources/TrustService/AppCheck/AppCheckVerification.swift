// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Formats
import FoundationEssentials
import HTTPService
import TrustStores
import TrustTokens
import Vocabulary

extension ServiceParts {
    /// An App Check token of ours that is good now.
    ///
    /// - Throws: ``Problem`` `token.invalid` for a token that is not ours, is over, or is of an app, a key or a debug token that is not
    ///   accepted any more; `key.revoked`. `StoreFault`.
    func appCheckToken(_ text: String, at now: Date) async throws -> GoodToken {
        guard let side = live.current.appCheck else { throw Problem(.tokenInvalid, evidence: "App Check is off") }
        let claims = try side.tokens.read(text, at: now)
        guard let name = side.app(claims.appId), let app = apps[name] else {
            throw Problem(.tokenInvalid, evidence: "an unknown app of App Check")
        }
        let bearer: TokenBearer
        switch claims.subject {
        case .key(let id, let environment, let simulated):
            guard !simulated || side.settings.simulated == .allow else {
                throw Problem(.tokenInvalid, evidence: "a simulated device's token")
            }
            let key = try await trusted.key(ofToken: id, environment: environment, simulated: simulated)
            guard key.app.hasSameBytes(as: name) else {
                throw Problem(.tokenInvalid, evidence: "an unknown device key")
            }
            bearer = TokenBearer(key, tier: claims.trust.tier)
        case .device: bearer = TokenBearer(app, deviceTokenTier: claims.trust.tier)
        case .debug(let debugName):
            guard side.accepts(debugName: debugName, app: name, at: now) else {
                throw Problem(.tokenInvalid, evidence: "a debug token that is no longer accepted")
            }
            bearer = TokenBearer(app, debugName: debugName, tier: claims.trust.tier)
        }
        // Apart from the identifiers of single-use tokens, though no two of either are alike.
        let spending = SingleUseToken(id: "app-check:\(claims.jti)", expiresAt: claims.life.end)
        return GoodToken(
            bearer: bearer, jti: claims.jti, reasons: claims.trust.reasons, isSingleUse: claims.limitedUse,
            spending: spending)
    }
}

/// What backends ask about App Check tokens.
extension AppCheckHandler {
    var verifications: [Route] {
        ["v1", "v1beta"].map { version in
            Route(
                version == "v1" ? "verifyAppCheckToken" : "verifyAppCheckTokenBeta", "POST",
                "/\(version)/projects/{project}:verifyAppCheckToken", .server, errors: AppCheckError.form, verify)
        }
    }

    /// `:verifyAppCheckToken`: marks a token as consumed. The first caller of all nodes gets `{}`, all others hear that it was consumed.
    @Sendable private func verify(_ call: Call) async throws -> Answer {
        guard let project = call.parameters["project"], parts.live.current.appCheck?.isProject(project) == true else {
            throw Problem(.appUnknown, evidence: "no such project of App Check")
        }
        let text = try AppCheckBody(call.body).text("appCheckToken")
        let token = try await parts.appCheckToken(text, at: call.now)
        let bearer = token.bearer
        try call.caller.require(.server, app: bearer.app)
        switch try await parts.store.consume(token.spending, at: call.now) {
        case .spent: return .json([:]).about(.app(bearer.app))
        case .alreadyUsed: return .json(["alreadyConsumed": true]).about(.app(bearer.app))
        case .expired: throw Problem(.tokenInvalid, evidence: "expired")
        }
    }
}
