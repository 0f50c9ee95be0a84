// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Crypto
import Formats
import FoundationEssentials
import TrustTokens
import Vocabulary
import _CryptoExtras

/// A key that signs JSON Web Tokens by RS256: RSA with PKCS #1 padding and SHA-256, as App Check's clients ask for.
struct RS256Key: Sendable {
    private let key: _RSA.Signing.PrivateKey
    private let publicKey: _RSA.Signing.PublicKey
    /// The `kid`: the thumbprint after RFC 7638.
    let identifier: String
    /// The public key as a JSON Web Key.
    let document: JSONValue

    /// How long a key may be. The signature of a longer one leaves no room for claims in `CompactToken.limit`.
    private static let bits = 2048...8192
    /// The same in words.
    static let sizes = "\(bits.lowerBound) to \(bits.upperBound) bits"

    /// Reads a private key of 2048 to 8192 bits; nil for anything else.
    init?(pem: String) {
        guard let key = try? _RSA.Signing.PrivateKey(pemRepresentation: pem), RS256Key.bits.contains(key.keySizeInBits),
            let numbers = try? key.publicKey.getKeyPrimitives()
        else { return nil }
        self.key = key
        publicKey = key.publicKey
        // RFC 7518, section 6.3.1: without leading zeros.
        let modulus = Base64.encodeURL(numbers.modulus.drop { $0 == 0 })
        let exponent = Base64.encodeURL(numbers.publicExponent.drop { $0 == 0 })
        let canonical = #"{"e":"\#(exponent)","kty":"RSA","n":"\#(modulus)"}"#
        identifier = Base64.encodeURL(SHA256.hash(data: Data(canonical.utf8)))
        document = [
            "kty": "RSA", "use": "sig", "alg": .string(AppCheckTokens.algorithm), "kid": .string(identifier),
            "n": .string(modulus), "e": .string(exponent),
        ]
    }

    static func newPEM() throws -> String { try _RSA.Signing.PrivateKey(keySize: .bits2048).pemRepresentation }

    func token(_ claims: JSONValue) throws -> String {
        try CompactToken.text(claims, algorithm: AppCheckTokens.algorithm, keyId: identifier) {
            try key.signature(for: SHA256.hash(data: $0), padding: .insecurePKCS1v1_5).rawRepresentation
        }
    }

    func hasSigned(_ data: Data, _ signature: [UInt8]) -> Bool {
        publicKey.isValidSignature(
            _RSA.Signing.RSASignature(rawRepresentation: signature), for: SHA256.hash(data: data),
            padding: .insecurePKCS1v1_5)
    }
}
