// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Findings
import Foundation
import StrictJSON
import TrustStores

/// Who holds an App Check token of ours that is good now.
struct AppCheckBearers: Sendable {
    let live: LiveBook
    let trusted: TrustedKeys

    /// The bearer of a token, with the token's claims.
    ///
    /// - Throws: ``Problem`` `token.invalid` for a token that is not ours, is over, or is of an app, a key or a debug token that is not
    ///   accepted any more; `key.revoked`. `StoreFault`.
    func bearer(of token: String, at now: Date) async throws -> (bearer: TokenBearer, claims: AppCheckClaims) {
        guard let side = live.current.appCheck else { throw Problem(.tokenInvalid, evidence: "App Check is off") }
        let claims = try side.tokens.read(token, at: now)
        guard let name = side.app(claims.appId), let app = trusted.apps[name] else {
            throw Problem(.tokenInvalid, evidence: "an unknown app of App Check")
        }
        switch claims.subject {
        case .key(let id, let environment, let simulated):
            guard !simulated || side.settings.simulated == .allow else {
                throw Problem(.tokenInvalid, evidence: "a simulated device's token")
            }
            let key = try await trusted.key(ofToken: id, environment: environment, simulated: simulated)
            guard key.app.hasSameBytes(as: name) else {
                throw Problem(.tokenInvalid, evidence: "an unknown device key")
            }
            return (TokenBearer(key, tier: claims.tier), claims)
        case .device: return (TokenBearer(app, deviceTokenTier: claims.tier), claims)
        case .debug(let debugName):
            guard side.accepts(debugName: debugName, at: now) else {
                throw Problem(.tokenInvalid, evidence: "a debug token that is no longer accepted")
            }
            return (TokenBearer(app, debugName: debugName, tier: claims.tier), claims)
        }
    }
}

/// What backends ask about App Check tokens.
struct AppCheckVerification: Handler {
    let store: any TrustStore
    let live: LiveBook
    let bearers: AppCheckBearers

    var routes: [Route] {
        ["v1", "v1beta"].map { version in
            Route(
                version == "v1" ? "verifyAppCheckToken" : "verifyAppCheckTokenBeta", "POST",
                "/\(version)/projects/{project}:verifyAppCheckToken", .server, errors: AppCheckError.form, verify)
        }
    }

    /// `:verifyAppCheckToken`: marks a token as consumed. The first caller of all nodes gets `{}`, all others hear that it was consumed.
    @Sendable private func verify(_ call: Call) async throws -> Answer {
        guard let project = call.parameters["project"], live.current.appCheck?.isProject(project) == true else {
            throw Problem(.appUnknown, evidence: "no such project of App Check")
        }
        let token = try AppCheckBody(call.body).text(.init("appCheckToken", "app_check_token"))
        let (bearer, claims) = try await bearers.bearer(of: token, at: call.now)
        guard call.caller.permits(.server, app: bearer.app) else {
            throw Problem(.callerUnauthorized, evidence: "the credential is for other apps")
        }
        // Apart from the identifiers of single-use tokens, though no two of either are alike.
        let spent = SingleUseToken(
            id: "app-check:\(claims.jti)", expiresAt: Date(timeIntervalSince1970: Double(claims.expiresAt)))
        switch try await store.consume(spent, at: call.now) {
        case .spent: return .json([:]).about(.app(bearer.app))
        case .alreadyUsed: return .json(["alreadyConsumed": true]).about(.app(bearer.app))
        case .expired: throw Problem(.tokenInvalid, evidence: "expired")
        }
    }
}
