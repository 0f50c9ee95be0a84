// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Crypto
import Formats
import FoundationEssentials

/// A CMS SignedData (RFC 5652, section 5) with content inside and exactly one signer, in BER as Apple sends it, or in DER.
struct SignedMessage {
    let content: [UInt8]
    /// The certificates in the message as DER. Nothing about them is trusted.
    let certificates: [ArraySlice<UInt8>]
    let signer: Signer
    /// The digest algorithms that the message announces, as they are encoded.
    private let digestAlgorithms: ArraySlice<UInt8>

    struct Signer {
        let issuer: ArraySlice<UInt8>
        let serialNumber: ArraySlice<UInt8>
        /// The two algorithms as they are encoded.
        let digestAlgorithm: ArraySlice<UInt8>
        let signatureAlgorithm: ArraySlice<UInt8>
        let signature: ArraySlice<UInt8>
        /// The signed attributes as they were signed: with the tag of a SET.
        let signedAttributes: [UInt8]?
    }

    init(decoding bytes: ArraySlice<UInt8>) throws(ASN1Fault) {
        var info = try ASN1Members(try ASN1Element(bytes, .ber), "the content info")
        guard try info.content(.objectIdentifier).elementsEqual(OID.pkcs7SignedData) else {
            throw ASN1Fault("it is not CMS signed data")
        }
        var wrapper = try ASN1Members(try info.require(), "the content info", tag: .context(0))
        try info.end()
        var signed = try ASN1Members(try wrapper.require(), "the signed data")
        try wrapper.end()
        guard try signed.content(.integer).elementsEqual([1]) else { throw ASN1Fault("its version is not 1") }
        digestAlgorithms = try signed.require().encodedBytes
        content = try SignedMessage.content(try signed.require())

        var certificates: [ArraySlice<UInt8>] = []
        if let bag = try signed.optional(.context(0)) {
            var list = try ASN1Members(bag, "the certificates", tag: .context(0))
            while let certificate = try list.next() {
                guard certificates.count < 16 else { throw ASN1Fault("it contains more than 16 certificates") }
                certificates.append(certificate.encodedBytes)
            }
        }
        self.certificates = certificates
        var signers = try ASN1Members(try signed.require(), "the signers", tag: .set)
        signer = try SignedMessage.signer(try signers.require())
        try signers.end()
        try signed.end()
    }

    /// The octets of the content, which may come in chunks, one level deep as everybody writes them.
    private static func content(_ node: ASN1Element) throws(ASN1Fault) -> [UInt8] {
        var encapsulated = try ASN1Members(node, "the content")
        guard try encapsulated.content(.objectIdentifier).elementsEqual(OID.pkcs7Data) else {
            throw ASN1Fault("the content is not plain data")
        }
        var wrapper = try ASN1Members(try encapsulated.require(), "the content", tag: .context(0))
        let octets = try wrapper.require()
        try wrapper.end()
        try encapsulated.end()
        if let whole = octets.content(of: .octetString) { return Array(whole) }
        var chunks = try ASN1Members(octets, "the content", tag: .chunkedOctetString)
        var content: [UInt8] = []
        while let chunk = try chunks.next() {
            guard let part = chunk.content(of: .octetString) else {
                throw ASN1Fault("a chunk of the content is not an octet string")
            }
            content += part
        }
        return content
    }

    private static func signer(_ node: ASN1Element) throws(ASN1Fault) -> Signer {
        var fields = try ASN1Members(node, "the signer")
        guard try fields.content(.integer).elementsEqual([1]) else {
            throw ASN1Fault("the signer's version is not 1")
        }
        var name = try ASN1Members(try fields.require(), "the signer's certificate name")
        let issuer = try name.require().encodedBytes
        let serialNumber = try name.content(.integer)
        try name.end()
        let digestAlgorithm = try fields.require().encodedBytes
        let attributes = try fields.optional(.context(0))
        let signatureAlgorithm = try fields.require().encodedBytes
        let signature = try fields.content(.octetString)
        try fields.end()
        return Signer(
            issuer: issuer, serialNumber: serialNumber, digestAlgorithm: digestAlgorithm,
            signatureAlgorithm: signatureAlgorithm, signature: signature,
            signedAttributes: attributes.map { [0x31] + $0.encodedBytes.dropFirst() })
    }

    /// The signer's certificate in the bag, found by issuer and serial number.
    func signerCertificate() -> (record: CertificateRecord, der: ArraySlice<UInt8>)? {
        for der in certificates {
            guard let record = try? CertificateRecord(der: der) else { continue }
            if record.serialNumber == signer.serialNumber, record.issuer == signer.issuer { return (record, der) }
        }
        return nil
    }

    /// Whether the key made the signature: over the content, or over signed attributes that hold the content's digest.
    func isSigned(by key: SigningKey) -> Bool {
        // The algorithms are compared as they are encoded, so that there is no byte in the message that does not matter.
        guard SignedMessage.sha256.contains(where: signer.digestAlgorithm.elementsEqual),
            SignedMessage.sha256.contains(where: { digestAlgorithms.elementsEqual([0x31, UInt8($0.count)] + $0) }),
            signer.signatureAlgorithm.elementsEqual([0x30, 0x0A, 0x06, 0x08] + OID.ecdsaWithSHA256)
        else { return false }
        let algorithm = OID.ecdsaWithSHA256[...]
        guard let attributes = signer.signedAttributes else {
            return key.isValid(signer.signature, for: content[...], algorithm: algorithm)
        }
        guard SignedMessage.attributes(attributes, attest: SHA256.hash(data: content)) else { return false }
        return key.isValid(signer.signature, for: attributes[...], algorithm: algorithm)
    }

    /// SHA-256 with `NULL` and without parameters.
    private static let sha256: [[UInt8]] = [
        [0x30, 0x0D, 0x06, 0x09] + OID.sha256 + [0x05, 0x00], [0x30, 0x0B, 0x06, 0x09] + OID.sha256,
    ]

    /// RFC 5652, section 5.3: signed attributes hold the content type and the digest of the content, each once.
    private static func attributes(_ bytes: [UInt8], attest digest: SHA256Digest) -> Bool {
        do {
            var attributes = try ASN1Members(try ASN1Element(bytes[...], .der), "the signed attributes", tag: .set)
            var (types, digests) = (0, 0)
            while let attribute = try attributes.next() {
                var fields = try ASN1Members(attribute, "an attribute")
                let id = try fields.content(.objectIdentifier)
                var values = try ASN1Members(try fields.require(), "an attribute's values", tag: .set)
                try fields.end()
                let value = try values.require()
                try values.end()
                if id.elementsEqual(OID.pkcs9ContentType) {
                    guard value.content(of: .objectIdentifier)?.elementsEqual(OID.pkcs7Data) == true else {
                        return false
                    }
                    types += 1
                } else if id.elementsEqual(OID.pkcs9MessageDigest) {
                    guard value.content(of: .octetString)?.elementsEqual(digest) == true else { return false }
                    digests += 1
                }
            }
            return types == 1 && digests == 1
        } catch {
            return false
        }
    }
}
