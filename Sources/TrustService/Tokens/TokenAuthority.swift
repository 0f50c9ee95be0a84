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

    static let singleUseLimit = Duration.seconds(300)

    package init(_ settings: Configuration.Tokens, store: any TrustStore, random: (Int) -> [UInt8]) async throws {
        var keys: [P256.Signing.PrivateKey] = []
        for pem in settings.keyPEMs { keys.append(try P256.Signing.PrivateKey(pemRepresentation: pem)) }
        if keys.isEmpty { keys = [try await TokenAuthority.derived(.tokens, store, random(32))] }
        let simulator = [try await TokenAuthority.derived(.simulatorTokens, store, random(32))]
        let strangers = [try await TokenAuthority.derived(.untrustedTokens, store, random(32))]
        guard let production = TokenKeySet(issuer: settings.issuer, keys: keys),
            let simulated = TokenKeySet(issuer: settings.issuer + "/simulator", keys: simulator),
            let untrusted = TokenKeySet(issuer: settings.issuer + "/untrusted", keys: strangers)
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

    /// A token, and its life in seconds.
    typealias Issued = (token: String, expiresIn: Int)

    /// A token for a key that has just proved itself.
    func issue(
        for key: StoredKey, trust: JudgedTrust, singleUse: Bool, identifier: [UInt8], at now: Date
    ) throws -> Issued {
        let claims: [JSONValue.Member] = [
            .init("key", .string(key.id.base64)), .init("env", .string(key.environment)),
            .init("sim", .bool(key.simulated)),
        ]
        return try token(
            of: key.simulated ? simulated : production, for: key.identity, identifier,
            life: singleUse ? min(ttl, TokenAuthority.singleUseLimit) : ttl, at: now,
            claims + trust.members + (singleUse ? [.init("singleUse", true)] : []))
    }

    /// A token for a caller that cannot attest.
    ///
    /// - Parameter reason: why it cannot, as it says itself.
    func issueUntrusted(for app: ServedApp, reason: String, identifier: [UInt8], at now: Date) throws -> Issued {
        let trust = JudgedTrust(tier: TokenTerms.noTier, reasons: [reason])
        let claims: [JSONValue.Member] = [
            .init("env", .string(app.deviceTokenEnvironment)), .init("sim", false),
        ]
        return try token(
            of: untrusted, for: app.settings.appIds.first ?? "", identifier, life: ttl, at: now, claims + trust.members)
    }

    private func token(
        of set: TokenKeySet, for app: String, _ identifier: [UInt8], life: Duration, at now: Date,
        _ claims: [JSONValue.Member]
    ) throws -> Issued {
        let seconds = Int(life / .seconds(1))
        let first: [JSONValue.Member] = [
            .init("iss", .string(set.issuer)), .init("aud", .string(audience)), .init("sub", .string(app)),
            .init("jti", .string(Base64.encodeURL(identifier))),
        ]
        let token = try set.sign(first + TokenLife(from: now, seconds: seconds).members + claims)
        return (token, seconds)
    }

    /// The claims of a token that this service signed and that is valid now.
    ///
    /// - Throws: ``Problem`` `token.invalid`.
    func read(_ token: String, at now: Date) throws(Problem) -> TokenClaims {
        let claims = try signed(token)
        guard claims.life.contains(now) else { throw Problem(.tokenInvalid, evidence: "expired") }
        return claims
    }

    /// Whether a token that this service signed was good once and has ended.
    func hasEnded(_ token: String, at now: Date) -> Bool { (try? signed(token).life.isOver(at: now)) ?? false }

    /// The claims of a token that this service signed, whatever the time.
    private func signed(_ token: String) throws(Problem) -> TokenClaims {
        let compact = try CompactToken.read(token, algorithm: TokenKeySet.algorithm)
        guard let set = [production, simulated, untrusted].first(where: { $0.contains(compact.keyId) }) else {
            throw Problem(.tokenInvalid, evidence: "an unknown key")
        }
        guard let claims = set.verify(compact) else {
            throw Problem(.tokenInvalid, evidence: "the signature")
        }
        guard claims.issuer == set.issuer, claims.audience == audience,
            claims.isSimulated == (set.issuer == simulated.issuer),
            (claims.key == nil) == (set.issuer == untrusted.issuer)
        else { throw Problem(.tokenInvalid, evidence: "the issuer or audience") }
        return claims
    }
}
