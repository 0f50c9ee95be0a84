// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

public import struct Foundation.Date

/// What one certificate says, read without judging it: weak keys and broken hashes are described here, not refused.
public struct CertificateFacts: Sendable, Equatable {
    /// The whole certificate, DER.
    public let der: [UInt8]
    /// 1, 2 or 3 (RFC 5280 section 4.1.2.1); other numbers as they stand, 0 for one that cannot be read.
    public let version: Int
    /// The subject and issuer as RFC 4514 text, for people.
    public let subject: String
    /// The issuer's name as text.
    public let issuer: String
    /// The DER of both names, for comparing.
    package let subjectDER: [UInt8]
    /// The issuer's name as it stands, DER.
    package let issuerDER: [UInt8]
    /// The serial number, upper-case hexadecimal.
    public let serialNumber: String
    /// The first instant of validity.
    public let notBefore: Date
    /// The last instant of validity.
    public let notAfter: Date
    /// The subject's key.
    public let publicKey: PublicKeyFacts
    /// How the issuer signed.
    public let signature: SignatureFacts
    /// Common names of the subject, in order.
    public let commonNames: [String]
    /// Nil if the certificate has no subjectAltName extension.
    public package(set) var alternativeNames: AlternativeNames?
    /// Object identifiers in dotted form; nil if the extension is absent.
    public package(set) var extendedKeyUsages: [String]?
    /// Bits of keyUsage as in RFC 5280 4.2.1.3: bit 0 is digitalSignature, bit 5 is keyCertSign. Nil if absent.
    package var keyUsage: Set<Int>?
    /// basicConstraints cA; nil if the extension is absent.
    public package(set) var isAuthority: Bool?
    /// pathLenConstraint of basicConstraints; nil if absent.
    package var pathLengthConstraint: Int?
    /// `http` addresses of the issuer's certificate (authority information access).
    package var issuerAddresses: [String]
    /// OCSP addresses of authorityInfoAccess.
    package var responderAddresses: [String] = []
    /// The subjectKeyIdentifier extension; nil if absent.
    package var subjectKeyIdentifier: [UInt8]?
    /// keyIdentifier of the authorityKeyIdentifier extension; nil if absent.
    package var authorityKeyIdentifier: [UInt8]?
    /// The serialized SignedCertificateTimestampList of the certificate, TLS encoding; nil if absent.
    package var embeddedTimestamps: [UInt8]?
    /// Critical extensions that RFC 5280 path validation as done here does not process, dotted.
    package var unknownCriticalExtensions: [String] = []
    /// Known extensions whose content could not be read, or that occur twice, dotted. Their facts above count as absent.
    package var malformedExtensions: [String] = []
    /// Whether the certificate limits the names below it.
    package var hasNameConstraints = false
    /// Whether it has extensions at all, which only version 3 allows.
    package let hasExtensions: Bool
    /// What else breaks the profile of RFC 5280 in the certificate by itself, as sentences without their subject and end.
    package let faults: [String]

    package init(
        der: [UInt8], version: Int = 3, subject: String, issuer: String, subjectDER: [UInt8], issuerDER: [UInt8],
        serialNumber: String, notBefore: Date, notAfter: Date, publicKey: PublicKeyFacts, signature: SignatureFacts,
        commonNames: [String] = [], alternativeNames: AlternativeNames? = nil, extendedKeyUsages: [String]? = nil,
        isAuthority: Bool? = nil, issuerAddresses: [String] = [], embeddedTimestamps: [UInt8]? = nil,
        hasExtensions: Bool = true, faults: [String] = []
    ) {
        self.der = der
        self.version = version
        self.subject = subject
        self.issuer = issuer
        self.subjectDER = subjectDER
        self.issuerDER = issuerDER
        self.serialNumber = serialNumber
        self.notBefore = notBefore
        self.notAfter = notAfter
        self.publicKey = publicKey
        self.signature = signature
        self.commonNames = commonNames
        self.alternativeNames = alternativeNames
        self.extendedKeyUsages = extendedKeyUsages
        self.isAuthority = isAuthority
        self.issuerAddresses = issuerAddresses
        self.embeddedTimestamps = embeddedTimestamps
        self.hasExtensions = hasExtensions
        self.faults = faults
    }

    /// Whether subject and issuer are the same name. It says nothing of the signature.
    package var isSelfIssued: Bool { subjectDER == issuerDER }

    /// Whether the instant is before the validity; certificates know whole seconds, and a part of one does not count.
    package func isNotYetValid(at instant: Date) -> Bool {
        instant.timeIntervalSince1970.rounded(.down) < notBefore.timeIntervalSince1970
    }

    /// Whether the instant is after the last second of the validity.
    package func hasExpired(at instant: Date) -> Bool {
        instant.timeIntervalSince1970.rounded(.down) > notAfter.timeIntervalSince1970
    }

    /// Whether the instant is within the validity, both ends included.
    public func isValid(at instant: Date) -> Bool { !isNotYetValid(at: instant) && !hasExpired(at: instant) }
}

extension CertificateFacts {
    /// Whether the extended key usage names servers: serverAuth, anyExtendedKeyUsage, or one of the two purposes of server-gated
    /// cryptography. False also where the extension is absent.
    package var isForServers: Bool {
        extendedKeyUsages?.contains { CertificateFacts.serverPurposes.contains($0) } ?? false
    }

    /// Whether it names serverAuth itself; anyExtendedKeyUsage does not.
    package var namesServers: Bool { extendedKeyUsages?.contains(CertificateFacts.serverPurpose) ?? false }

    private static let serverPurpose = "1.3.6.1.5.5.7.3.1"
    private static let serverPurposes: Set<String> = [
        serverPurpose, "2.5.29.37.0", "1.3.6.1.4.1.311.10.3.3", "2.16.840.1.113730.4.1",
    ]
}

/// The names of a subjectAltName extension.
public struct AlternativeNames: Sendable, Equatable {
    /// dNSName entries, as they stand.
    public let dnsNames: [String]
    /// 4 or 16 bytes each.
    public let addresses: [[UInt8]]

    package init(dnsNames: [String], addresses: [[UInt8]]) {
        self.dnsNames = dnsNames
        self.addresses = addresses
    }
}

/// The public key of a certificate.
public struct PublicKeyFacts: Sendable, Equatable {
    /// The family of the key and its size in bits.
    public enum Kind: Sendable, Equatable {
        /// RSA with a modulus of so many bits.
        case rsa(bits: Int)
        /// `curve` is a name such as `P-256`, or the dotted object identifier of an unknown curve.
        case ellipticCurve(curve: String, bits: Int)
        /// Ed25519, DSA and others, by dotted object identifier.
        case other(objectIdentifier: String)
    }

    /// The curves that TLS and Apple's systems know for certificates (RFC 8422 section 5.1.1).
    package static let curvesOfTLS: Set<String> = ["P-256", "P-384", "P-521"]

    /// For people, with an article: "an RSA key of 2048 bits".
    package var words: String {
        switch kind {
        case .rsa(let bits): "an RSA key of \(bits) bits"
        case .ellipticCurve(let curve, _): "a key on the elliptic curve \(curve)"
        case .other(let identifier): PublicKeyFacts.otherWords[identifier] ?? "a key of type \(identifier)"
        }
    }

    /// Whether an RSA key is marked for RSASSA-PSS alone (RFC 4055 section 1.2): the algorithm of its SubjectPublicKeyInfo says so, behind the
    /// heads of two sequences.
    package var signsWithPSSAlone: Bool {
        (4...8).contains { der.dropFirst($0).starts(with: PublicKeyFacts.identifierOfPSS) }
    }

    package static let wordsOfPSS = "an RSA key that is marked for RSASSA-PSS only"

    /// 1.2.840.113549.1.1.10 in DER.
    private static let identifierOfPSS: [UInt8] = [6, 9, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 1, 1, 0x0A]

    /// RFC 8410, RFC 3279, FIPS 204.
    private static let otherWords = [
        "1.3.101.112": "an Ed25519 key", "1.3.101.113": "an Ed448 key",
        "1.2.840.10040.4.1": "a DSA key",
        "2.16.840.1.101.3.4.3.17": "an ML-DSA-44 key", "2.16.840.1.101.3.4.3.18": "an ML-DSA-65 key",
        "2.16.840.1.101.3.4.3.19": "an ML-DSA-87 key",
    ]

    /// Algorithm and size.
    public let kind: Kind
    /// SHA-256 of the DER SubjectPublicKeyInfo, 32 bytes: what pins compare.
    public let sha256: [UInt8]
    package let der: [UInt8]

    package init(kind: Kind, sha256: [UInt8], der: [UInt8]) {
        self.kind = kind
        self.sha256 = sha256
        self.der = der
    }
}

/// How a certificate was signed.
public struct SignatureFacts: Sendable, Equatable {
    /// The hash under the signature.
    public enum Hash: String, Sendable {
        /// MD2.
        case md2
        /// MD4.
        case md4
        /// MD5.
        case md5
        /// SHA-1.
        case sha1
        /// SHA-224.
        case sha224
        /// SHA-256.
        case sha256
        /// SHA-384.
        case sha384
        /// SHA-512.
        case sha512
        /// Any other, and schemes that have their hash inside (Ed25519).
        case other
    }

    /// The dotted object identifier of the signature algorithm.
    public let algorithm: String
    /// The hash of the signature.
    public let hash: Hash

    package init(algorithm: String, hash: Hash) {
        self.algorithm = algorithm
        self.hash = hash
    }
}
