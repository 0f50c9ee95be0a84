// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import Crypto
package import Formats
package import FoundationEssentials
import Vocabulary

/// A signed JSON Web Token in its three parts (RFC 7515, section 7.1): split by bytes, and nothing of it believed yet.
package struct CompactToken: Sendable {
    /// The most bytes of a token that is read: one of ours with a signature of 2048 bits has less than 2 kB.
    package static let limit = 4096

    /// The `typ` of its header; nil if it has none.
    package let type: String?
    package let keyId: String
    /// What is signed: header, dot, claims.
    package let signed: Data
    private let middle: String
    private let end: String

    /// Reads the header.
    ///
    /// - Parameters:
    ///   - algorithm: the one `alg` that is read; a token never says how it wants to be verified.
    ///   - limit: the most bytes that are read.
    /// - Throws: ``UnreadableToken`` for everything that the service does not write: another algorithm, a critical header, doubled members.
    package init(
        _ token: String, algorithm: String, limit: Int = CompactToken.limit
    ) throws(UnreadableToken) {
        guard token.utf8.count <= limit else { throw UnreadableToken(reason: "longer than any token") }
        var parts = token.utf8.split(separator: UInt8(ascii: "."), maxSplits: 3, omittingEmptySubsequences: false)[...]
        guard parts.count == 3, let head = parts.popFirst(), let body = parts.popFirst(), let tail = parts.popFirst(),
            let bytes = Base64.decodeURL(String(Substring(head))), let header = CompactToken.object(bytes)
        else { throw UnreadableToken(reason: "not a token") }
        guard header.member("alg")?.text?.hasSameBytes(as: algorithm) == true, let keyId = header.member("kid")?.text,
            header.member("crit") == nil
        else { throw UnreadableToken(reason: "another algorithm") }
        self.keyId = keyId
        type = header.member("typ")?.text
        signed = Data(head) + Data(".".utf8) + Data(body)
        middle = String(Substring(body))
        end = String(Substring(tail))
    }

    /// The text of a token with these claims.
    ///
    /// - Parameter sign: signs header, dot and claims.
    package static func text(
        _ claims: JSONValue, algorithm: String, type: String = "JWT", keyId: String, sign: (Data) throws -> Data
    ) rethrows -> String {
        let header: JSONValue = ["alg": .string(algorithm), "typ": .string(type), "kid": .string(keyId)]
        let signed = [header, claims].map { Base64.encodeURL($0.encoded(pretty: false)) }.joined(separator: ".")
        return "\(signed).\(Base64.encodeURL(try sign(Data(signed.utf8))))"
    }

    /// The bytes of its claims; nil if they are not base64url.
    package var payload: [UInt8]? { Base64.decodeURL(middle) }
    /// The bytes of its signature; nil if they are not base64url.
    package var signature: [UInt8]? { Base64.decodeURL(end) }

    /// Its claims: nil unless they are an object whose members have different names. Ask only after the signature was verified.
    package var claims: JSONValue? { claims(limits: .outside) }

    /// The same within other limits.
    package func claims(limits: JSONReader.Limits) -> JSONValue? {
        payload.flatMap { CompactToken.object($0, limits: limits) }
    }

    /// Whether this key signed it with ES256: 64 bytes, no DER (RFC 7518, section 3.4).
    package func isSigned(by key: P256.Signing.PublicKey) -> Bool {
        guard let raw = signature, raw.count == 64,
            let signature = try? P256.Signing.ECDSASignature(rawRepresentation: raw)
        else { return false }
        return key.isValidSignature(signature, for: signed)
    }

    private static func object(_ bytes: [UInt8], limits: JSONReader.Limits = .outside) -> JSONValue? {
        guard let value = try? JSONReader.read(bytes, limits: limits), value.members != nil, !value.hasDoubledMember
        else { return nil }
        return value
    }
}

/// Why a text is no token that can be verified.
package struct UnreadableToken: Error, Equatable {
    /// A few words without anything of the token.
    package let reason: String
}
