// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Crypto
import Formats
import FoundationEssentials
import Vocabulary

/// A key in the list of revoked keys: the first 12 bytes of the SHA-256 of its 32 bytes, in base64url.
///
/// Two of 10^9 keys have the same mark with a chance of 10^-11.
package enum RevocationMark {
    private static let length = 12

    package static func of(key keyId: some Sequence<UInt8>) -> String {
        of(hash: Array(SHA256.hash(data: Data(keyId))))
    }

    /// The mark of a key by its SHA-256, or as much of that as a store keeps.
    package static func of(hash: [UInt8]) -> String { Base64.encodeURL(hash.prefix(length)) }

    fileprivate static func isMark(_ text: String) -> Bool { Base64.decodeURL(text)?.count == length }
}

/// The list of revoked keys that a service signs, for checks that do not ask it about each token.
package struct RevokedKeyList: Sendable {
    package static let type = "revoked+jwt"
    package static let keyLimit = 100_000
    /// The most bytes of its token: 26 for each key, and some hundred.
    package static let tokenLimit = 4_194_304

    package let issuer: String
    package let life: TokenLife
    /// Whether it names all; if not, keys that were revoked earlier are missing.
    package let isComplete: Bool
    private let marks: Set<String>

    /// Reads what the service wrote; nil for anything else. Ask only after the signature was verified.
    package init?(_ token: CompactToken) {
        var limits = JSONReader.Limits.outside
        limits.values = RevokedKeyList.keyLimit + 64
        guard token.type?.hasSameBytes(as: RevokedKeyList.type) == true, let claims = token.claims(limits: limits),
            let issuer = claims.member("iss")?.text, let life = TokenLife(claims),
            let keys = claims.member("keys")?.elements,
            keys.count <= RevokedKeyList.keyLimit, claims.member("complete").map({ $0.flag != nil }) ?? true
        else { return nil }
        let marks = keys.compactMap(\.text)
        // A key that cannot be read could be the one that is asked for.
        guard marks.count == keys.count, marks.allSatisfy(RevocationMark.isMark) else { return nil }
        self.issuer = issuer
        self.life = life
        self.marks = Set(marks)
        isComplete = claims.member("complete")?.flag ?? true
    }

    package func names(_ mark: String) -> Bool { marks.contains(mark) }
}
