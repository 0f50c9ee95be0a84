// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Formats
package import TLSModel
import Vocabulary

/// The outer frame of a certificate (RFC 5280 section 4.1): what was signed, how, and the signature.
package struct SignedCertificate: Sendable {
    package let signedBytes: ArraySlice<UInt8>
    package let algorithm: SignatureAlgorithm
    /// signatureAlgorithm as it is encoded.
    let encodedAlgorithm: ArraySlice<UInt8>
    package let signature: ArraySlice<UInt8>

    /// The frame, and the node of the signed part.
    static func open(_ der: [UInt8]) throws(MalformedInput) -> (SignedCertificate, ASN1Element) {
        guard der.count <= SignedCertificate.maximumSize else {
            throw .certificate("the certificate is larger than \(SignedCertificate.maximumSize) bytes")
        }
        return try open(try DERReader.parse(der[...], "certificate"))
    }

    /// The same of a certificate that was read before, whose members need not all be looked at again.
    static func open(_ certificate: CertificateFacts) throws(MalformedInput) -> (SignedCertificate, ASN1Element) {
        try open(try DERReader.frame(certificate.der[...], "certificate"))
    }

    private static func open(_ outer: ASN1Element) throws(MalformedInput) -> (SignedCertificate, ASN1Element) {
        guard outer.tag == .sequence else { throw .certificate("a certificate is a sequence, and this is not one") }
        var frame = try DERReader(outer, "certificate")
        let signed = try frame.required("tbsCertificate", .sequence)
        let algorithm = try frame.required("signatureAlgorithm", .sequence)
        let signature = try frame.required("signature").bitStringBytes("signature")
        let value = SignedCertificate(
            signedBytes: signed.encodedBytes, algorithm: try SignatureAlgorithm(algorithm),
            encodedAlgorithm: algorithm.encodedBytes, signature: signature)
        return (value, signed)
    }

    /// Real certificates stay under 10 KiB; a megabyte of names still parses nowhere else either.
    static let maximumSize = 128 * 1024
}

/// The members of the signed part of a certificate (RFC 5280 section 4.1), not yet read themselves.
struct CertificateMembers {
    /// With its tag.
    let version: ASN1Element?
    let serialNumber: ASN1Element
    let signature: ASN1Element
    let issuer: ASN1Element
    let validity: ASN1Element
    let subject: ASN1Element
    let key: ASN1Element
    /// With their tag.
    private let taggedExtensions: ASN1Element?

    init(_ signed: ASN1Element) throws(MalformedInput) {
        var reader = try DERReader(signed, "tbsCertificate")
        version = reader.optional(context: 0)
        serialNumber = try reader.required("serialNumber", .integer)
        signature = try reader.required("signature", .sequence)
        issuer = try reader.required("issuer", .sequence)
        validity = try reader.required("validity", .sequence)
        subject = try reader.required("subject", .sequence)
        key = try reader.required("subjectPublicKeyInfo", .sequence)
        _ = reader.optional(context: 1)
        _ = reader.optional(context: 2)
        taggedExtensions = reader.optional(context: 3)
    }

    /// The list of extensions; nil if there is none.
    func extensions() throws(MalformedInput) -> ASN1Element? { try taggedExtensions?.explicit("extensions") }
}

/// An AlgorithmIdentifier of a signature, and the parameters of RSASSA-PSS.
package struct SignatureAlgorithm: Sendable, Equatable {
    package enum Family: Sendable, Equatable {
        case rsaPKCS1, rsaPSS(saltLength: Int, sameMaskHash: Bool), ecdsa, ed25519, other
    }

    package let objectIdentifier: String
    package let hash: SignatureFacts.Hash
    package let family: Family

    package var facts: SignatureFacts { SignatureFacts(algorithm: objectIdentifier, hash: hash) }

    init(_ node: ASN1Element) throws(MalformedInput) {
        var reader = try DERReader(node, "signature algorithm")
        let identifier = try reader.required("algorithm").objectIdentifier("signature algorithm")
        objectIdentifier = identifier
        if identifier == "1.2.840.113549.1.1.10" {
            let parameters = try SignatureAlgorithm.pssParameters(reader.next())
            hash = parameters.hash
            family = .rsaPSS(saltLength: parameters.salt, sameMaskHash: parameters.same)
        } else if let known = SignatureAlgorithm.known[identifier] {
            (family, hash) = known
        } else {
            (family, hash) = (.other, .other)
        }
    }

    /// RFC 4055 section 3.1; the defaults are SHA-1, MGF1 with SHA-1, and 20 bytes of salt.
    private static func pssParameters(
        _ node: ASN1Element?
    ) throws(MalformedInput) -> (hash: SignatureFacts.Hash, salt: Int, same: Bool) {
        guard let node else { return (.sha1, 20, true) }
        var reader = try DERReader(node, "RSASSA-PSS parameters")
        var hash = SignatureFacts.Hash.sha1
        var maskHash = SignatureFacts.Hash.sha1
        var salt = 20
        if let tagged = reader.optional(context: 0) {
            var algorithm = try DERReader(try tagged.explicit("hash"), "hash")
            hash = hashes[try algorithm.required("algorithm").objectIdentifier("hash")] ?? .other
        }
        if let tagged = reader.optional(context: 1) {
            var generator = try DERReader(try tagged.explicit("mask generator"), "mask generator")
            _ = try generator.required("algorithm")
            var algorithm = try DERReader(try generator.required("hash"), "hash of the mask generator")
            maskHash = hashes[try algorithm.required("algorithm").objectIdentifier("hash")] ?? .other
        }
        if let tagged = reader.optional(context: 2) {
            let bytes = try (try tagged.explicit("salt length")).magnitude("salt length")
            guard bytes.count <= 2 else { throw .certificate("the salt of RSASSA-PSS is too long") }
            salt = bytes.reduce(0) { $0 << 8 | Int($1) }
        }
        return (hash, salt, hash == maskHash)
    }

    static let hashes: [String: SignatureFacts.Hash] = [
        "1.2.840.113549.2.2": .md2, "1.2.840.113549.2.4": .md4, "1.2.840.113549.2.5": .md5, "1.3.14.3.2.26": .sha1,
        "2.16.840.1.101.3.4.2.4": .sha224, "2.16.840.1.101.3.4.2.1": .sha256, "2.16.840.1.101.3.4.2.2": .sha384,
        "2.16.840.1.101.3.4.2.3": .sha512,
    ]

    /// RFC 3279, RFC 4055, RFC 5758 and RFC 8410.
    private static let known: [String: (Family, SignatureFacts.Hash)] = [
        "1.2.840.113549.1.1.2": (.rsaPKCS1, .md2), "1.2.840.113549.1.1.3": (.rsaPKCS1, .md4),
        "1.2.840.113549.1.1.4": (.rsaPKCS1, .md5), "1.2.840.113549.1.1.5": (.rsaPKCS1, .sha1),
        "1.3.14.3.2.29": (.rsaPKCS1, .sha1), "1.2.840.113549.1.1.14": (.rsaPKCS1, .sha224),
        "1.2.840.113549.1.1.11": (.rsaPKCS1, .sha256), "1.2.840.113549.1.1.12": (.rsaPKCS1, .sha384),
        "1.2.840.113549.1.1.13": (.rsaPKCS1, .sha512), "1.2.840.10045.4.1": (.ecdsa, .sha1),
        "1.2.840.10045.4.3.1": (.ecdsa, .sha224), "1.2.840.10045.4.3.2": (.ecdsa, .sha256),
        "1.2.840.10045.4.3.3": (.ecdsa, .sha384), "1.2.840.10045.4.3.4": (.ecdsa, .sha512),
        // Ed25519 hashes with SHA-512 inside (RFC 8032).
        "1.3.101.112": (.ed25519, .sha512), "1.2.840.10040.4.3": (.other, .sha1),
        "2.16.840.1.101.3.4.3.1": (.other, .sha224), "2.16.840.1.101.3.4.3.2": (.other, .sha256),
    ]
}
