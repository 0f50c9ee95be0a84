// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Crypto
import Formats
import FoundationEssentials
import Vocabulary

/// A key in the list of revoked keys: the first 12 bytes of the SHA-256 of its 32 bytes.
///
/// Two of 10^9 keys have the same mark with a chance of 10^-11.
package struct RevocationMark: Hashable, Sendable {
    private static let length = 12
    private let bytes: InlineBytes

    private struct InlineBytes: Hashable {
        let first: UInt64
        let rest: UInt32
    }

    package init(ofKey keyId: some Sequence<UInt8>) {
        self.init(Array(SHA256.hash(data: Data(keyId)).prefix(RevocationMark.length)))
    }

    /// The mark of a key of which the SHA-256 is known.
    package init(ofHash hash: [UInt8]) { self.init(Array(hash.prefix(RevocationMark.length))) }

    /// Reads a mark in base64url; nil for anything else.
    package init?(_ text: String) {
        guard let bytes = Base64.decodeURL(text), bytes.count == RevocationMark.length else { return nil }
        self.init(bytes)
    }

    private init(_ bytes: [UInt8]) {
        self.bytes = InlineBytes(
            first: bytes.prefix(8).reduce(0) { $0 << 8 | UInt64($1) },
            rest: bytes.dropFirst(8).prefix(4).reduce(0) { $0 << 8 | UInt32($1) })
    }

    package var text: String {
        let first = (0..<8).map { UInt8(truncatingIfNeeded: bytes.first >> (56 - 8 * $0)) }
        let rest = (0..<4).map { UInt8(truncatingIfNeeded: bytes.rest >> (24 - 8 * $0)) }
        return Base64.encodeURL(first + rest)
    }
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
    private let marks: Set<RevocationMark>

    /// Reads what the service wrote; nil for anything else. Ask only after the signature was verified.
    package init?(_ token: CompactToken) {
        var limits = JSONReader.Limits.outside
        limits.values = RevokedKeyList.keyLimit + 64
        guard token.type?.hasSameBytes(as: RevokedKeyList.type) == true, let claims = token.claims(limits: limits),
            let issuer = claims.member("iss")?.text, let life = TokenLife(claims),
            let keys = claims.member("keys")?.elements,
            keys.count <= RevokedKeyList.keyLimit, claims.member("complete").map({ $0.flag != nil }) ?? true
        else { return nil }
        let marks = keys.compactMap { $0.text.flatMap { RevocationMark($0) } }
        // A key that cannot be read could be the one that is asked for.
        guard marks.count == keys.count else { return nil }
        self.issuer = issuer
        self.life = life
        self.marks = Set(marks)
        isComplete = claims.member("complete")?.flag ?? true
    }

    package func names(_ mark: RevocationMark) -> Bool { marks.contains(mark) }
}
