// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Crypto
import Formats
package import TLSModel
package import Vocabulary

extension PublicKeyFacts {
    /// The keys of all certificates and public keys of a PEM file; empty if it has none.
    ///
    /// - Throws: `malformed.certificate` for one that cannot be read.
    package static func all(inPEM pem: [UInt8]) throws(MalformedInput) -> [PublicKeyFacts] {
        var keys: [PublicKeyFacts] = []
        for der in PEMBlocks.decode(pem) { keys.append(try CertificateFacts(decoding: der).publicKey) }
        for der in PEMBlocks.decode(pem, labels: ["PUBLIC KEY"]) {
            keys.append(try PublicKeyFacts(try DERReader.parse(der[...], "public key")))
        }
        return keys
    }

    /// Reads a SubjectPublicKeyInfo of any kind and any size.
    init(_ node: ASN1Element) throws(MalformedInput) {
        let der = Array(node.encodedBytes)
        var reader = try DERReader(node, "public key")
        var algorithm = try DERReader(try reader.required("algorithm", .sequence), "algorithm of the public key")
        let identifier = try algorithm.required("algorithm").objectIdentifier("algorithm of the public key")
        let key = try reader.required("key").bitStringBytes("public key")
        let kind: Kind
        switch identifier {
        case "1.2.840.113549.1.1.1", "1.2.840.113549.1.1.10":
            kind = .rsa(bits: try PublicKeyFacts.modulusBits(key))
        case "1.2.840.10045.2.1":
            kind = PublicKeyFacts.curve(algorithm.next(), key)
        default: kind = .other(objectIdentifier: identifier)
        }
        self.init(kind: kind, sha256: Array(SHA256.hash(data: der)), der: der)
    }

    /// Reads only the key of a certificate, by stepping over what precedes it: the tree of a whole certificate takes longer than
    /// the check of a signature.
    init(ofCertificate der: [UInt8]) throws(MalformedInput) {
        guard der.count <= SignedCertificate.maximumSize else {
            throw .certificate("the certificate has no public key")
        }
        var frame = try DERReader(try DERReader.frame(der[...], "certificate"), "certificate")
        let key = try CertificateMembers(try frame.required("tbsCertificate", .sequence)).key
        try self.init(try DERReader.parse(key.encodedBytes, "public key"))
    }

    private static func modulusBits(_ key: ArraySlice<UInt8>) throws(MalformedInput) -> Int {
        var numbers = try DERReader(try DERReader.parse(key, "RSA key"), "RSA key")
        let modulus = try numbers.required("modulus").magnitude("modulus")
        guard let first = modulus.first else { return 0 }
        return modulus.count * 8 - first.leadingZeroBitCount
    }

    private static func curve(_ parameters: ASN1Element?, _ key: ArraySlice<UInt8>) -> Kind {
        // An uncompressed point is 4, x, y; a compressed one is 2 or 3, x (SEC 1 section 2.3.3).
        let coordinate = key.first == 4 ? (key.count - 1) / 2 : max(key.count - 1, 0)
        guard let parameters, let identifier = try? parameters.objectIdentifier("curve") else {
            return .ellipticCurve(curve: "explicit parameters", bits: coordinate * 8)
        }
        if let known = curves[identifier] { return .ellipticCurve(curve: known.name, bits: known.bits) }
        return .ellipticCurve(curve: identifier, bits: coordinate * 8)
    }

    private static let curves: [String: (name: String, bits: Int)] = [
        "1.2.840.10045.3.1.1": ("P-192", 192), "1.3.132.0.33": ("P-224", 224),
        "1.2.840.10045.3.1.7": ("P-256", 256), "1.3.132.0.34": ("P-384", 384), "1.3.132.0.35": ("P-521", 521),
        "1.3.132.0.10": ("secp256k1", 256), "1.3.36.3.3.2.8.1.1.7": ("brainpoolP256r1", 256),
        "1.3.36.3.3.2.8.1.1.11": ("brainpoolP384r1", 384), "1.3.36.3.3.2.8.1.1.13": ("brainpoolP512r1", 512),
    ]
}
