// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import Formats
package import FoundationEssentials

/// What a token of the service says.
package struct TokenClaims: Sendable, Equatable {
    package let issuer: String
    package let audience: String
    /// The identity of the app: `prefix.bundleId`.
    package let app: String
    package let identifier: String
    package let life: TokenLife
    /// The key id in standard base64; nil in the token of a caller that cannot attest.
    package let key: String?
    package let tier: String
    /// `production` or `development`.
    package let environment: String
    package let isSimulated: Bool
    package let isSingleUse: Bool
    /// What was known beside the tier. Tokens of versions that knew no reasons have none.
    package let reasons: [String]

    /// Nil if a claim is missing or of another type. The names are the contract's.
    package init?(_ claims: JSONValue) {
        guard let issuer = claims.member("iss")?.text, let audience = claims.member("aud")?.text,
            let app = claims.member("sub")?.text, let identifier = claims.member("jti")?.text,
            let life = TokenLife(claims), let tier = claims.member("tier")?.text,
            let environment = claims.member("env")?.text, let isSimulated = claims.member("sim")?.flag
        else { return nil }
        let (use, key) = (claims.member("singleUse"), claims.member("key"))
        guard key == nil || key?.text != nil else { return nil }
        (self.issuer, self.audience, self.app, self.identifier) = (issuer, audience, app, identifier)
        (self.life, self.key, self.tier, self.environment) = (life, key?.text, tier, environment)
        self.isSimulated = isSimulated
        isSingleUse = use?.flag ?? (use != nil)
        reasons = claims.member("reasons")?.elements?.compactMap(\.text) ?? []
    }
}

/// From when to when a signed document is good.
package struct TokenLife: Sendable, Equatable {
    /// Seconds since 1970.
    package let issuedAt: Int
    package let expiresAt: Int
    /// The instant at which it is over.
    package var end: Date { Date(timeIntervalSince1970: Double(expiresAt)) }

    /// By how many seconds the issuer's clock may be ahead.
    private static let clockMargin = 60.0

    /// - Parameter seconds: how long it lasts.
    package init(from now: Date, seconds: Int) {
        issuedAt = Int(now.timeIntervalSince1970.rounded(.down))
        expiresAt = issuedAt + seconds
    }

    /// Reads `iat` and `exp`; nil if one is missing or no whole number.
    package init?(_ claims: JSONValue) {
        guard let issuedAt = claims.member("iat")?.integer, let expiresAt = claims.member("exp")?.integer else {
            return nil
        }
        (self.issuedAt, self.expiresAt) = (issuedAt, expiresAt)
    }

    /// The claims that say so.
    package var members: [JSONValue.Member] {
        [.init("iat", .integer(issuedAt)), .init("exp", .integer(expiresAt))]
    }

    package func contains(_ instant: Date) -> Bool {
        !isOver(at: instant) && Double(issuedAt) <= instant.timeIntervalSince1970 + TokenLife.clockMargin
    }

    package func isOver(at instant: Date) -> Bool { instant.timeIntervalSince1970 >= Double(expiresAt) }
}
