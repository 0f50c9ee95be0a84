// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Crypto
import Formats
import FoundationEssentials

/// The key of a certificate, of the two kinds that Apple's chains use.
enum SigningKey: Sendable, Equatable {
    case p256(P256.Signing.PublicKey)
    case p384(P384.Signing.PublicKey)

    init?(_ certificate: CertificateRecord) {
        guard let curve = certificate.keyCurve, certificate.keyBits.first == 0x04 else { return nil }
        if curve.elementsEqual(OID.p256), let key = try? P256.Signing.PublicKey(x963Representation: certificate.keyBits)
        {
            self = .p256(key)
        } else if curve.elementsEqual(OID.p384),
            let key = try? P384.Signing.PublicKey(x963Representation: certificate.keyBits)
        {
            self = .p384(key)
        } else {
            return nil
        }
    }

    /// Whether `signature` (DER) is this key's over `message`, with the digest that `algorithm` names.
    func isValid(_ signature: ArraySlice<UInt8>, for message: ArraySlice<UInt8>, algorithm: ArraySlice<UInt8>) -> Bool {
        if algorithm.elementsEqual(OID.ecdsaWithSHA256) {
            return isValid(signature, for: SHA256.hash(data: message))
        }
        if algorithm.elementsEqual(OID.ecdsaWithSHA384) {
            return isValid(signature, for: SHA384.hash(data: message))
        }
        return false
    }

    /// The point as X9.63.
    var point: Data {
        switch self {
        case .p256(let key): key.x963Representation
        case .p384(let key): key.x963Representation
        }
    }

    /// Points of the two curves have different lengths.
    static func == (one: SigningKey, other: SigningKey) -> Bool { one.point == other.point }

    private func isValid(_ signature: ArraySlice<UInt8>, for digest: some Digest) -> Bool {
        switch self {
        case .p256(let key):
            guard let raw = SignatureNumbers.raw(of: signature, width: 32),
                let signature = try? P256.Signing.ECDSASignature(rawRepresentation: raw)
            else { return false }
            return key.isValidSignature(signature, for: digest)
        case .p384(let key):
            guard let raw = SignatureNumbers.raw(of: signature, width: 48),
                let signature = try? P384.Signing.ECDSASignature(rawRepresentation: raw)
            else { return false }
            return key.isValidSignature(signature, for: digest)
        }
    }
}
