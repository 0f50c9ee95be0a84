// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Formats
package import JWTKit

/// What a token says. The names are the contract's.
package struct TokenClaims: JWTPayload, Equatable {
    package var iss: String
    package var aud: String
    /// The identity of the app: `prefix.bundleId`.
    package var sub: String
    package var jti: String
    package var iat: Int
    package var exp: Int
    /// The key id in standard base64; nil in the token of a caller that cannot attest.
    package var key: String?
    package var tier: String
    /// `production` or `development`.
    package var env: String
    /// Whether a simulated root attested the key.
    package var sim: Bool
    /// Present and true in a token that must be consumed.
    package var singleUse: Bool?
    /// What was known beside the tier. Tokens of versions that knew no reasons have none.
    package var reasons: [String]?

    /// Time, issuer and audience are judged by ``TokenAuthority``, which is told the time.
    package func verify(using algorithm: some JWTAlgorithm) {}
}

extension TokenClaims {
    /// Nil if a claim is missing or of another type.
    init?(_ claims: JSONValue) {
        guard let issuer = claims.member("iss")?.text, let audience = claims.member("aud")?.text,
            let subject = claims.member("sub")?.text, let identifier = claims.member("jti")?.text,
            let issuedAt = claims.member("iat")?.integer, let expiresAt = claims.member("exp")?.integer,
            let tier = claims.member("tier")?.text,
            let environment = claims.member("env")?.text, let isSimulated = claims.member("sim")?.flag
        else { return nil }
        let (use, key) = (claims.member("singleUse"), claims.member("key"))
        guard use == nil || use?.flag != nil, key == nil || key?.text != nil else { return nil }
        self.init(
            iss: issuer, aud: audience, sub: subject, jti: identifier, iat: issuedAt, exp: expiresAt, key: key?.text,
            tier: tier, env: environment, sim: isSimulated, singleUse: use?.flag,
            reasons: claims.member("reasons")?.elements?.compactMap(\.text))
    }
}
