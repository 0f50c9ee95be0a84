// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Crypto
import Formats
import FoundationEssentials
import TrustTokens
import Vocabulary

/// The keys of one issuer: the first signs, all verify.
struct TokenKeySet: Sendable {
    let issuer: String
    /// The name of the key that signs.
    let signer: String
    private let signing: P256.Signing.PrivateKey
    private let verifying: [UTF8Key: P256.Signing.PublicKey]
    /// The public keys as a JSON Web Key Set.
    let published: JSONValue

    static let algorithm = "ES256"

    /// Nil without a key.
    init?(issuer: String, keys: [P256.Signing.PrivateKey]) {
        guard let first = keys.first else { return nil }
        self.issuer = issuer
        signing = first
        signer = TokenKeySet.described(first.publicKey).name
        var verifying: [UTF8Key: P256.Signing.PublicKey] = [:]
        var documents: [JSONValue] = []
        for key in keys.map(\.publicKey) {
            let (name, document) = TokenKeySet.described(key)
            guard verifying.updateValue(key, forKey: UTF8Key(name)) == nil else { continue }
            documents.append(document)
        }
        self.verifying = verifying
        published = ["keys": .array(documents)]
    }

    func contains(_ identifier: String) -> Bool { verifying[UTF8Key(identifier)] != nil }

    /// - Parameter type: the `typ` of the header.
    func sign(_ claims: [JSONValue.Member], type: String = "JWT") throws -> String {
        try CompactToken.text(.object(claims), algorithm: TokenKeySet.algorithm, type: type, keyId: signer) {
            try signing.signature(for: $0).rawRepresentation
        }
    }

    /// The claims of a token, if the key that it names signed it.
    ///
    /// The signature comes first: what nobody signed is never decoded.
    func verify(_ token: CompactToken) -> TokenClaims? {
        guard let key = verifying[UTF8Key(token.keyId)], token.isSigned(by: key) else { return nil }
        return token.claims.flatMap { TokenClaims($0) }
    }

    /// The name of the key in a PEM text; nil if it is none.
    static func identifier(ofPEM text: String) -> String? {
        (try? P256.Signing.PrivateKey(pemRepresentation: text)).map { described($0.publicKey).name }
    }

    /// The name of a key, its thumbprint after RFC 7638, and the key as a JSON Web Key.
    private static func described(_ key: P256.Signing.PublicKey) -> (name: String, document: JSONValue) {
        let raw = Array(key.rawRepresentation)
        let (x, y) = (Base64.encodeURL(raw.prefix(32)), Base64.encodeURL(raw.suffix(32)))
        let canonical = #"{"crv":"P-256","kty":"EC","x":"\#(x)","y":"\#(y)"}"#
        let name = Base64.encodeURL(SHA256.hash(data: Data(canonical.utf8)))
        let document: JSONValue = [
            "kty": "EC", "crv": "P-256", "x": .string(x), "y": .string(y), "use": "sig", "alg": .string(algorithm),
            "kid": .string(name),
        ]
        return (name, document)
    }
}
