// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Formats
import FoundationEssentials

/// The facts of one certificate (RFC 5280, section 4.1), read here so that nothing that Apple may issue is refused for
/// the wrong reason, and so that one signature check is most of an attestation's cost.
struct CertificateRecord {
    /// What was signed.
    let signedPart: ArraySlice<UInt8>
    let serialNumber: ArraySlice<UInt8>
    let issuer: ArraySlice<UInt8>
    let subject: ArraySlice<UInt8>
    let notBefore: Date
    let notAfter: Date
    /// The curve's object identifier if the key is on a named curve, and the point.
    let keyCurve: ArraySlice<UInt8>?
    let keyBits: ArraySlice<UInt8>
    let extensions: [Extension]
    let signatureAlgorithm: ArraySlice<UInt8>
    let signature: ArraySlice<UInt8>

    struct Extension {
        let id: ArraySlice<UInt8>
        let isCritical: Bool
        let value: ArraySlice<UInt8>
    }

    init(der bytes: ArraySlice<UInt8>) throws(ASN1Fault) {
        var outer = try ASN1Members(try ASN1Element(bytes, .der), "a certificate")
        let signed = try outer.require()
        signedPart = signed.encodedBytes
        var fields = try ASN1Members(signed, "a certificate's signed part")
        guard let version = try fields.optional(.context(0)),
            version.encodedBytes.elementsEqual([0xA0, 0x03, 0x02, 0x01, 0x02])
        else { throw ASN1Fault("a certificate is not version 3") }
        serialNumber = try fields.content(.integer)
        let innerAlgorithm = try fields.require().encodedBytes
        issuer = try fields.require().encodedBytes
        var validity = try ASN1Members(try fields.require(), "a certificate's validity")
        notBefore = try validity.require().time()
        notAfter = try validity.require().time()
        try validity.end()
        subject = try fields.require().encodedBytes
        (keyCurve, keyBits) = try CertificateRecord.key(try fields.require())
        extensions = try CertificateRecord.extensions(&fields)
        try fields.end()

        let algorithm = try outer.require()
        // RFC 5280, section 4.1.1.2: the algorithm outside and the one that was signed must be the same.
        guard algorithm.encodedBytes == innerAlgorithm else {
            throw ASN1Fault("a certificate names two different signature algorithms")
        }
        var algorithmFields = try ASN1Members(algorithm, "a signature algorithm")
        signatureAlgorithm = try algorithmFields.content(.objectIdentifier)
        signature = try CertificateRecord.bits(try outer.content(.bitString))
        try outer.end()
    }

    private static func key(_ node: ASN1Element) throws(ASN1Fault) -> (ArraySlice<UInt8>?, ArraySlice<UInt8>) {
        var info = try ASN1Members(node, "a certificate's key")
        var algorithm = try ASN1Members(try info.require(), "a key algorithm")
        let isEC = try algorithm.content(.objectIdentifier).elementsEqual(OID.ecPublicKey)
        let curve = isEC ? try algorithm.next()?.content(of: .objectIdentifier) : nil
        let bits = try bits(try info.content(.bitString))
        try info.end()
        return (curve, bits)
    }

    private static func extensions(_ fields: inout ASN1Members) throws(ASN1Fault) -> [Extension] {
        guard let tagged = try fields.optional(.context(3)) else { return [] }
        var wrapper = try ASN1Members(tagged, "a certificate's extensions", tag: .context(3))
        var list = try ASN1Members(try wrapper.require(), "a certificate's extensions")
        try wrapper.end()
        var extensions: [Extension] = []
        while let node = try list.next() {
            guard extensions.count < 64 else { throw ASN1Fault("a certificate has more than 64 extensions") }
            var parts = try ASN1Members(node, "a certificate's extension")
            let id = try parts.content(.objectIdentifier)
            var isCritical = false
            if let flag = try parts.optional(.boolean) {
                // DER: false is the default and is left out, true is 0xFF.
                guard flag.content.elementsEqual([0xFF]) else {
                    throw ASN1Fault("a certificate's extension has a critical flag that is not DER")
                }
                isCritical = true
            }
            let value = try parts.content(.octetString)
            try parts.end()
            guard !extensions.contains(where: { $0.id == id }) else {
                throw ASN1Fault("a certificate has the same extension twice")
            }
            extensions.append(Extension(id: id, isCritical: isCritical, value: value))
        }
        return extensions
    }

    /// The bytes of a bit string that has a whole number of them.
    private static func bits(_ content: ArraySlice<UInt8>) throws(ASN1Fault) -> ArraySlice<UInt8> {
        guard content.first == 0 else { throw ASN1Fault("a bit string is not a whole number of bytes") }
        return content.dropFirst()
    }

    /// The value of an extension.
    func value(of id: [UInt8]) -> ArraySlice<UInt8>? {
        extensions.first { $0.id.elementsEqual(id) }?.value
    }

    /// Whether `basicConstraints` says that this is an authority. Absent means no.
    ///
    /// The encodings are compared, because DER has one for each: `30 00`, `30 03 01 01 FF`, and the latter with a path length.
    var isAuthority: Bool {
        guard let value = value(of: OID.basicConstraints) else { return false }
        let content = value.dropFirst(2)
        return value.first == 0x30 && content.starts(with: [0x01, 0x01, 0xFF])
    }

    /// Whether the key may be used so; a certificate without `keyUsage` does not limit its key. Bit 0 is `digitalSignature`.
    func mayUseKey(bit: UInt8) -> Bool {
        guard let value = value(of: OID.keyUsage) else { return true }
        guard value.count >= 4, value.starts(with: [0x03]), let first = value.dropFirst(3).first else { return false }
        return first & (0x80 >> bit) != 0
    }

    /// Whether an extension is critical and none of those that are judged here.
    var hasUnknownCriticalExtension: Bool {
        extensions.contains {
            $0.isCritical && !$0.id.elementsEqual(OID.basicConstraints) && !$0.id.elementsEqual(OID.keyUsage)
        }
    }
}

/// Object identifiers as the content bytes of their encoding, so that comparing one is comparing bytes.
enum OID {
    static let ecPublicKey: [UInt8] = [0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01]
    static let p256: [UInt8] = [0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07]
    static let p384: [UInt8] = [0x2B, 0x81, 0x04, 0x00, 0x22]
    static let ecdsaWithSHA256: [UInt8] = [0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x04, 0x03, 0x02]
    static let ecdsaWithSHA384: [UInt8] = [0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x04, 0x03, 0x03]
    static let sha256: [UInt8] = [0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x01]

    static let basicConstraints: [UInt8] = [0x55, 0x1D, 0x13]
    static let keyUsage: [UInt8] = [0x55, 0x1D, 0x0F]
    static let nameConstraints: [UInt8] = [0x55, 0x1D, 0x1E]

    /// 1.2.840.113635.100, Apple.
    private static let apple: [UInt8] = [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x63, 0x64]
    /// 1.2.840.113635.100.8.2: the nonce of an attestation.
    static let attestationNonce = apple + [0x08, 0x02]
    /// 1.2.840.113635.100.8.6: the access control of the attested key.
    static let keyAccessControl = apple + [0x08, 0x06]
    /// 1.2.840.113635.100.8.7: the device's operating system.
    static let deviceOS = apple + [0x08, 0x07]
    /// 1.2.840.113635.100.12.15: a signer of App Attest receipts.
    static let receiptSigner = apple + [0x0C, 0x0F]
    /// 1.2.840.113635.100.6.2.3: an authority for Apple's application integration.
    static let applicationIntegrationCA = apple + [0x06, 0x02, 0x03]

    static let pkcs7Data: [UInt8] = [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x07, 0x01]
    static let pkcs7SignedData: [UInt8] = [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x07, 0x02]
    static let pkcs9ContentType: [UInt8] = [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x09, 0x03]
    static let pkcs9MessageDigest: [UInt8] = [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x09, 0x04]
}
