// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import Crypto
package import FoundationEssentials

/// A key that signs certificates, receipts or assertions in the simulator.
package enum SimulatorKey: Sendable {
    case p256(P256.Signing.PrivateKey)
    case p384(P384.Signing.PrivateKey)

    /// The signature over the message with SHA-256 or SHA-384, as DER.
    package func sign(_ message: [UInt8], sha384: Bool = false) throws -> [UInt8] {
        try sha384 ? signature(of: SHA384.hash(data: message)) : signature(of: SHA256.hash(data: message))
    }

    private func signature(of digest: some Digest) throws -> [UInt8] {
        switch self {
        case .p256(let key): Array(try key.signature(for: digest).derRepresentation)
        case .p384(let key): Array(try key.signature(for: digest).derRepresentation)
        }
    }

    package var point: [UInt8] {
        switch self {
        case .p256(let key): Array(key.publicKey.x963Representation)
        case .p384(let key): Array(key.publicKey.x963Representation)
        }
    }

    /// The SubjectPublicKeyInfo as DER.
    package var keyInfo: [UInt8] {
        switch self {
        case .p256: SimulatorKey.keyInfo(point)
        case .p384: SimulatorKey.keyInfo(point, curve: ASN1.object(1, 3, 132, 0, 34))
        }
    }

    /// The SubjectPublicKeyInfo of a point, on P-256 unless said otherwise.
    static func keyInfo(_ point: [UInt8], curve: [UInt8] = ASN1.object(1, 2, 840, 10045, 3, 1, 7)) -> [UInt8] {
        ASN1.sequence(ASN1.sequence(ASN1.object(1, 2, 840, 10045, 2, 1), curve), ASN1.bits(point))
    }
}

package struct CertificateExtension: Sendable {
    /// The object identifier as DER.
    package var id: [UInt8]
    package var isCritical: Bool
    package var value: [UInt8]

    package init(_ id: [UInt8], critical: Bool = false, _ value: [UInt8]) {
        self.id = id
        isCritical = critical
        self.value = value
    }

    package static func basicConstraints(authority: Bool, pathLength: Int? = nil) -> CertificateExtension {
        let content = authority ? ASN1.yes + (pathLength.map { ASN1.integer($0) } ?? []) : []
        return CertificateExtension(ASN1.object(2, 5, 29, 19), critical: true, ASN1.node(0x30, content))
    }

    /// The bits of the first byte of `keyUsage`; 0x80 is digitalSignature.
    package static func keyUsage(_ bits: UInt8) -> CertificateExtension {
        CertificateExtension(
            ASN1.object(2, 5, 29, 15), critical: true, ASN1.bits([bits], unused: UInt8(bits.trailingZeroBitCount & 7)))
    }

    package static func subjectKeyIdentifier(_ point: [UInt8]) -> CertificateExtension {
        CertificateExtension(ASN1.object(2, 5, 29, 14), ASN1.octets(Array(Insecure.SHA1.hash(data: point))))
    }

    package static func authorityKeyIdentifier(_ point: [UInt8]) -> CertificateExtension {
        let identifier = Array(Insecure.SHA1.hash(data: point))
        return CertificateExtension(ASN1.object(2, 5, 29, 35), ASN1.sequence(ASN1.node(0x80, identifier)))
    }
}

/// Everything that goes into one certificate.
package struct CertificateRecipe: Sendable {
    /// Big-endian.
    package var serialNumber: [UInt8]
    package var issuer: [UInt8]
    package var subject: [UInt8]
    package var notBefore: Date
    package var notAfter: Date
    package var keyInfo: [UInt8]
    package var extensions: [CertificateExtension]
    package var usesSHA384 = false
    /// Says another algorithm outside than the one that was signed.
    package var namesOtherAlgorithmOutside = false
    /// Changes the signature after it was made.
    package var adjustSignature: @Sendable ([UInt8]) -> [UInt8] = { $0 }

    package func signed(by key: SimulatorKey) throws -> [UInt8] {
        let algorithm = CertificateRecipe.algorithm(sha384: usesSHA384)
        let list = extensions.map { item in
            ASN1.sequence(item.id, item.isCritical ? ASN1.yes : [], ASN1.octets(item.value))
        }
        let part = ASN1.sequence(
            ASN1.tagged(0, ASN1.integer(2)), ASN1.integer(magnitude: serialNumber), algorithm, issuer,
            ASN1.sequence(CertificateRecipe.time(notBefore), CertificateRecipe.time(notAfter)), subject, keyInfo,
            ASN1.tagged(3, ASN1.node(0x30, list.flatMap { $0 })))
        let signature = adjustSignature(try key.sign(part, sha384: usesSHA384))
        let outside = namesOtherAlgorithmOutside ? CertificateRecipe.algorithm(sha384: !usesSHA384) : algorithm
        return ASN1.sequence(part, outside, ASN1.bits(signature))
    }

    package static func algorithm(sha384: Bool) -> [UInt8] {
        ASN1.sequence(ASN1.object(1, 2, 840, 10045, 4, 3, sha384 ? 3 : 2))
    }

    /// A name of `CN`, `OU`, `O`, `ST` and `C`, in Apple's order.
    package static func name(_ parts: [(Int, String)]) -> [UInt8] {
        let sets = parts.map { ASN1.set(ASN1.sequence(ASN1.object(2, 5, 4, $0.0), ASN1.text($0.1))) }
        return ASN1.node(0x30, sets.flatMap { $0 })
    }

    /// UTCTime until 2049, GeneralizedTime from 2050 on (RFC 5280, section 4.1.2.5).
    static func time(_ date: Date) -> [UInt8] {
        let digits = CivilTime(date).digits
        let isLong = digits >= "2050"
        return ASN1.node(isLong ? 0x18 : 0x17, Array((digits.dropFirst(isLong ? 0 : 2) + "Z").utf8))
    }
}

/// A moment in UTC, taken apart. Years before 0 and after 9999 are moved to the nearest of these.
struct CivilTime {
    /// `YYYY-MM-DDTHH:MM:SSZ`.
    private let text: String
    /// 0 to 999.
    private let millisecond: Int

    init(_ date: Date) {
        let within = min(max(date.timeIntervalSince1970, -62_167_219_200), 253_402_300_799)
        let milliseconds = Int((within * 1000).rounded())
        let seconds = milliseconds >= 0 ? milliseconds / 1000 : (milliseconds - 999) / 1000
        millisecond = milliseconds - seconds * 1000
        text = Date(timeIntervalSince1970: Double(seconds)).formatted(.iso8601)
    }

    /// `YYYYMMDDHHMMSS`.
    var digits: String { text.filter(\.isNumber) }

    /// ISO 8601 with the milliseconds that receipts have: zeros at the end are dropped.
    var receiptText: String {
        if millisecond == 0 { return text }
        var fraction = String(1000 + millisecond).dropFirst()
        while fraction.last == "0" { fraction.removeLast() }
        return "\(text.dropLast()).\(fraction)Z"
    }
}
