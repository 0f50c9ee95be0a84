// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Crypto
import FoundationEssentials
package import TLSModel
import _CryptoExtras

/// A public key in the forms that swift-crypto verifies with.
///
/// RSA works from 1024 bits, on the curves P-256, P-384 and P-521, and with Ed25519; hashes are SHA-1, SHA-256, SHA-384 and SHA-512.
/// Everything else is unverifiable, because a wrong guess here would become a wrong verdict.
package struct VerificationKey: Sendable {
    private enum Key: Sendable {
        case rsa(_RSA.Signing.PublicKey)
        case p256(P256.Signing.PublicKey)
        case p384(P384.Signing.PublicKey)
        case p521(P521.Signing.PublicKey)
        case ed25519(Curve25519.Signing.PublicKey)
        case unusable(String)
    }

    private let key: Key

    package init(_ facts: PublicKeyFacts) {
        switch facts.kind {
        case .rsa(let bits) where bits < 1024:
            key = .unusable("RSA keys under 1024 bits cannot be checked here (this one has \(bits))")
        case .rsa:
            if let rsa = try? _RSA.Signing.PublicKey(unsafeDERRepresentation: facts.der) {
                key = .rsa(rsa)
            } else {
                key = .unusable("The RSA key cannot be used")
            }
        case .ellipticCurve(let curve, _): key = VerificationKey.curveKey(curve, facts.der)
        case .other("1.3.101.112"):
            // RFC 8410 section 4: the last 32 bytes of the SubjectPublicKeyInfo are the key.
            if facts.der.count == 44,
                let edwards = try? Curve25519.Signing.PublicKey(rawRepresentation: facts.der.suffix(32))
            {
                key = .ed25519(edwards)
            } else {
                key = .unusable("The Ed25519 key cannot be used")
            }
        case .other(let identifier): key = .unusable("Keys of type \(identifier) cannot be checked here")
        }
    }

    private static func curveKey(_ curve: String, _ der: [UInt8]) -> Key {
        switch curve {
        case "P-256": if let usable = try? P256.Signing.PublicKey(derRepresentation: der) { return .p256(usable) }
        case "P-384": if let usable = try? P384.Signing.PublicKey(derRepresentation: der) { return .p384(usable) }
        case "P-521": if let usable = try? P521.Signing.PublicKey(derRepresentation: der) { return .p521(usable) }
        default: return .unusable("Keys on the curve \(curve) cannot be checked here")
        }
        return .unusable("The key on the curve \(curve) cannot be used")
    }

    package func check(
        _ signature: some Collection<UInt8>, over message: some Collection<UInt8>, family: SignatureAlgorithm.Family,
        hash: SignatureFacts.Hash
    ) -> SignatureVerdict {
        let signature = Data(signature)
        let message = Data(message)
        if case .unusable(let reason) = key { return .unverifiable(reason) }
        if case .ed25519(let edwards) = key {
            guard family == .ed25519 else { return .invalid }
            return edwards.isValidSignature(signature, for: message) ? .valid : .invalid
        }
        switch hash {
        case .sha1: return check(signature, digest: Insecure.SHA1.hash(data: message), family)
        case .sha256: return check(signature, digest: SHA256.hash(data: message), family)
        case .sha384: return check(signature, digest: SHA384.hash(data: message), family)
        case .sha512: return check(signature, digest: SHA512.hash(data: message), family)
        case .md2, .md4, .md5, .sha224, .other:
            return .unverifiable("Signatures with \(hash.rawValue.uppercased()) cannot be checked here")
        }
    }

    /// Called with the four digests that `_CryptoExtras` knows and with no other: any other ends the process.
    private func check(_ signature: Data, digest: some Digest, _ family: SignatureAlgorithm.Family) -> SignatureVerdict
    {
        switch (key, family) {
        case (.rsa(let rsa), .rsaPKCS1):
            return rsa.isValidSignature(.init(rawRepresentation: signature), for: digest, padding: .insecurePKCS1v1_5)
                ? .valid : .invalid
        case (.rsa(let rsa), .rsaPSS(let salt, let sameMaskHash)):
            guard sameMaskHash, salt == type(of: digest).byteCount else {
                return .unverifiable("RSASSA-PSS is checked here only with a salt as long as its hash")
            }
            return rsa.isValidSignature(.init(rawRepresentation: signature), for: digest, padding: .PSS)
                ? .valid : .invalid
        case (.p256(let curve), .ecdsa):
            guard let parsed = try? P256.Signing.ECDSASignature(derRepresentation: signature) else { return .invalid }
            return curve.isValidSignature(parsed, for: digest) ? .valid : .invalid
        case (.p384(let curve), .ecdsa):
            guard let parsed = try? P384.Signing.ECDSASignature(derRepresentation: signature) else { return .invalid }
            return curve.isValidSignature(parsed, for: digest) ? .valid : .invalid
        case (.p521(let curve), .ecdsa):
            guard let parsed = try? P521.Signing.ECDSASignature(derRepresentation: signature) else { return .invalid }
            return curve.isValidSignature(parsed, for: digest) ? .valid : .invalid
        case (_, .other): return .unverifiable("The signature algorithm is unknown here")
        default: return .invalid
        }
    }
}

extension SignedCertificate {
    /// Whether the holder of `key` signed the certificate.
    func verdict(under key: PublicKeyFacts) -> SignatureVerdict {
        if algorithm.family == .other {
            return .unverifiable("The signature algorithm \(algorithm.objectIdentifier) cannot be checked here")
        }
        return VerificationKey(key).check(signature, over: signedBytes, family: algorithm.family, hash: algorithm.hash)
    }
}

extension CertificateFacts {
    package func signatureVerdict(under issuer: PublicKeyFacts) -> SignatureVerdict {
        (try? SignedCertificate.open(self).0)?.verdict(under: issuer) ?? .unverifiable("The certificate is unreadable")
    }
}
