// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import TLSModel

/// Checks the signatures by which a server proves that it holds the key of its certificate.
enum HandshakeSignature {
    /// A signature of TLS 1.2 or 1.3 with a signature scheme.
    static func check(
        _ scheme: SignatureScheme, _ signature: ArraySlice<UInt8>, over message: [UInt8], _ key: PublicKeyFacts
    ) -> KeyPossession {
        guard let (family, hash) = schemes[scheme] else {
            return .unproven("The signature scheme \(scheme) cannot be checked here")
        }
        return possession(VerificationKey(key).check(signature, over: message, family: family, hash: hash))
    }

    /// A signature of TLS 1.0 or 1.1, which has no scheme (RFC 4492 section 5.4, RFC 4346 section 7.4.3).
    static func checkBeforeSchemes(
        _ signature: ArraySlice<UInt8>, over message: [UInt8], _ key: PublicKeyFacts
    ) -> KeyPossession {
        switch key.kind {
        case .ellipticCurve:
            return possession(VerificationKey(key).check(signature, over: message, family: .ecdsa, hash: .sha1))
        case .rsa:
            return .unproven("RSA below TLS 1.2 signs with MD5 and SHA-1 together, which cannot be checked here")
        case .other(let identifier):
            return .unproven("Signatures of keys of type \(identifier) cannot be checked here")
        }
    }

    private static func possession(_ verdict: SignatureVerdict) -> KeyPossession {
        switch verdict {
        case .valid: .proven
        case .invalid: .refuted
        case .unverifiable(let reason): .unproven(reason)
        }
    }

    /// Those that can be checked.
    static let schemes: [SignatureScheme: (SignatureAlgorithm.Family, SignatureFacts.Hash)] = [
        .ecdsaSECP256R1SHA256: (.ecdsa, .sha256), .ecdsaSECP384R1SHA384: (.ecdsa, .sha384),
        .ecdsaSECP521R1SHA512: (.ecdsa, .sha512), .ecdsaSHA1: (.ecdsa, .sha1),
        .rsaPSSSHA256: (.rsaPSS(saltLength: 32, sameMaskHash: true), .sha256),
        .rsaPSSSHA384: (.rsaPSS(saltLength: 48, sameMaskHash: true), .sha384),
        .rsaPSSSHA512: (.rsaPSS(saltLength: 64, sameMaskHash: true), .sha512),
        .rsaPKCS1SHA256: (.rsaPKCS1, .sha256), .rsaPKCS1SHA384: (.rsaPKCS1, .sha384),
        .rsaPKCS1SHA512: (.rsaPKCS1, .sha512),
        .rsaPKCS1SHA1: (.rsaPKCS1, .sha1), .ed25519: (.ed25519, .sha512),
    ]
}
