// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Formats
import TrustTokens

/// What a token says. The names are the contract's.
struct TokenFacts {
    let issuer: String
    let audience: String
    let app: String
    let identifier: String
    let issuedAt: Int
    let expiresAt: Int
    let key: String
    let tier: TrustTier
    let environment: AttestedIdentity.Environment
    let isSimulated: Bool
    let isSingleUse: Bool

    /// Nil if a claim is missing or of another type.
    init?(_ claims: JSONValue) {
        guard let issuer = claims.member("iss")?.text, let audience = claims.member("aud")?.text,
            let app = claims.member("sub")?.text, let identifier = claims.member("jti")?.text,
            let issuedAt = claims.member("iat")?.integer, let expiresAt = claims.member("exp")?.integer,
            let key = claims.member("key")?.text,
            let tier = claims.member("tier")?.text.flatMap(TrustTier.init(rawValue:)),
            let environment = claims.member("env")?.text.flatMap(AttestedIdentity.Environment.init(rawValue:)),
            let isSimulated = claims.member("sim")?.flag
        else { return nil }
        self.issuer = issuer
        self.audience = audience
        self.app = app
        self.identifier = identifier
        self.issuedAt = issuedAt
        self.expiresAt = expiresAt
        self.key = key
        self.tier = tier
        self.environment = environment
        self.isSimulated = isSimulated
        isSingleUse = claims.member("singleUse")?.flag ?? (claims.member("singleUse") != nil)
    }
}
