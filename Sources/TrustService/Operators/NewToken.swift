// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Crypto
package import Formats
package import FoundationEssentials
import Vocabulary

/// A new credential: the token, which is shown once and kept nowhere, and the entry of `tokensFile` by which it is known.
package struct NewToken: Sendable {
    /// 43 characters of base64url: 256 random bits.
    package let token: String
    /// `name`, `sha256`, `scopes` and, if given, `expires`.
    package let entry: JSONValue

    /// Nil for a name or a scope that no entry may have.
    ///
    /// - Parameter random: 32 bytes that were never used before.
    package init?(name: String, scopes: [String], expires: Date?, random: [UInt8]) {
        let token = Base64.encodeURL(random)
        let digest = Array(SHA256.hash(data: Data(token.utf8)))
        guard random.count == 32, NamedCredential.isName(name),
            NamedCredential(name: name, digest: digest, scopes: scopes, expires: expires) != nil
        else { return nil }
        self.token = token
        var members: [JSONValue.Member] = [
            .init("name", .string(name)),
            .init("sha256", .string(digest.hexadecimal())),
            .init("scopes", .array(scopes.map { .string($0) })),
        ]
        if let expires { members.append(.init("expires", .string(RFC3339.text(expires)))) }
        entry = .object(members)
    }
}
