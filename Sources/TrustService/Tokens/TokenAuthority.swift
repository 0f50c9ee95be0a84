// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import Crypto
import Formats
import FoundationEssentials
import HTTPService
package import TrustStores
import TrustTokens
import Vocabulary

/// Issues and reads the service's tokens: ES256 alone, production and simulated keys apart.
///
/// The simulated issuer's key is derived from a secret of the store, so that all nodes share it without configuration; if no
/// key file is configured, the production key is derived in the same way from another secret.
package struct TokenAuthority: Sendable {
    let production: TokenKeySet
    let simulated: TokenKeySet
    /// Signs for callers that cannot attest, so that a check for attested callers knows none of its keys.
    let untrusted: TokenKeySet
    private let audience: String
    private let ttl: Duration

    /// The longest life of a single-use token.
    static let singleUseLimit = Duration.seconds(300)

    package init(_ settings: Configuration.Tokens, store: any TrustStore, random: (Int) -> [UInt8]) async throws {
        var keys: [P256.Signing.PrivateKey] = []
        for pem in settings.keyPEMs { keys.append(try P256.Signing.PrivateKey(pemRepresentation: pem)) }
        if keys.isEmpty { keys = [try await TokenAuthority.derived(.tokens, store, random(32))] }
        let simulator = [try await TokenAuthority.derived(.simulatorTokens, store, random(32))]
        let strangers = [try await TokenAuthority.derived(.untrustedTokens, store, random(32))]
        guard let production = await TokenKeySet(issuer: settings.issuer, keys: keys),
            let simulated = await TokenKeySet(issuer: settings.issuer + "/simulator", keys: simulator),
            let untrusted = await TokenKeySet(issuer: settings.issuer + "/untrusted", keys: strangers)
        else { throw StoreFault.damaged("the token keys cannot be used") }
        self.production = production
        self.simulated = simulated
        self.untrusted = untrusted
        audience = settings.audience
        ttl = settings.ttl
    }

    /// A P-256 key that every node on the store derives alike.
    private static func derived(
        _ secret: StoredSecret, _ store: any TrustStore, _ candidate: [UInt8]
    ) async throws
        -> P256.Signing.PrivateKey
    {
        let key = SymmetricKey(data: Data(try await secret.value(in: store, orElse: candidate)))
        for counter in UInt8.min...UInt8.max {
            let bytes = HKDF<SHA256>.deriveKey(
                inputKeyMaterial: key, info: Data(secret.purpose.utf8) + [counter], outputByteCount: 32)
            // One candidate in 2^32 is not below the order of the curve.
            if let key = try? P256.Signing.PrivateKey(rawRepresentation: bytes) { return key }
        }
        throw StoreFault.damaged("no token key can be derived")
    }

    /// A token for a key that has just proved itself.
    func issue(
        for key: StoredKey, trust: JudgedTrust, singleUse: Bool, identifier: [UInt8], at now: Date
    ) async throws -> (token: String, expiresIn: Int) {
        let set = key.simulated ? simulated : production
        let seconds = Int(min(ttl, singleUse ? TokenAuthority.singleUseLimit : ttl).inSeconds)
        let issuedAt = Int(now.timeIntervalSince1970.rounded(.down))
        let claims = TokenClaims(
            iss: set.issuer, aud: audience, sub: key.identity, jti: Base64.encodeURL(identifier), iat: issuedAt,
            exp: issuedAt + seconds, key: key.id.base64, tier: trust.tier, env: key.environment,
            sim: key.simulated, singleUse: singleUse ? true : nil, reasons: trust.reasons)
        return (try await set.sign(claims), seconds)
    }

    /// A token for a caller that cannot attest.
    ///
    /// - Parameter reason: why it cannot, as it says itself.
    func issueUntrusted(
        for app: ServedApp, reason: String, identifier: [UInt8], at now: Date
    ) async throws -> (token: String, expiresIn: Int) {
        let issuedAt = Int(now.timeIntervalSince1970.rounded(.down))
        let seconds = Int(ttl.inSeconds)
        let claims = TokenClaims(
            iss: untrusted.issuer, aud: audience, sub: app.settings.appIds.first ?? "",
            jti: Base64.encodeURL(identifier), iat: issuedAt, exp: issuedAt + seconds, key: nil,
            tier: TokenTerms.noTier, env: app.deviceTokenEnvironment, sim: false, singleUse: nil, reasons: [reason])
        return (try await untrusted.sign(claims), seconds)
    }

    /// The claims of a token that this service signed and that is valid now.
    ///
    /// - Throws: ``Problem`` `token.invalid`.
    func read(_ token: String, at now: Date) throws(Problem) -> TokenClaims {
        let claims = try signed(token)
        guard isCurrent(claims, at: now) else { throw Problem(.tokenInvalid, evidence: "expired") }
        return claims
    }

    /// Whether a token that this service signed was good once and has ended.
    func hasEnded(_ token: String, at now: Date) -> Bool {
        guard let claims = try? signed(token) else { return false }
        return now.timeIntervalSince1970 >= Double(claims.exp)
    }

    private func isCurrent(_ claims: TokenClaims, at now: Date) -> Bool {
        let seconds = now.timeIntervalSince1970
        return seconds < Double(claims.exp) && Double(claims.iat) <= seconds + 60
    }

    /// The claims of a token that this service signed, whatever the time.
    private func signed(_ token: String) throws(Problem) -> TokenClaims {
        let compact = try CompactToken.read(token, algorithm: "ES256")
        guard let set = [production, simulated, untrusted].first(where: { $0.contains(compact.keyId) }) else {
            throw Problem(.tokenInvalid, evidence: "an unknown key")
        }
        guard let claims = set.verify(compact) else {
            throw Problem(.tokenInvalid, evidence: "the signature")
        }
        guard claims.iss == set.issuer, claims.aud == audience, claims.sim == (set.issuer == simulated.issuer),
            (claims.key == nil) == (set.issuer == untrusted.issuer)
        else { throw Problem(.tokenInvalid, evidence: "the issuer or audience") }
        return claims
    }
}
