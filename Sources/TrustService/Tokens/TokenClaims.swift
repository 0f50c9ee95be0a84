// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

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
    /// The key id in standard base64.
    package var key: String
    package var tier: String
    /// `production` or `development`.
    package var env: String
    /// Whether a simulated root attested the key.
    package var sim: Bool
    /// Present and true in a token that must be consumed.
    package var singleUse: Bool?

    /// Time, issuer and audience are judged by ``TokenAuthority``, which is told the time.
    package func verify(using algorithm: some JWTAlgorithm) {}
}
