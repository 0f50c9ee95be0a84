// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Crypto
import Formats
import FoundationEssentials
import SwiftASN1
public import Vocabulary
import X509

/// The roots that attestations are traced to. Not interchangeable with ``ReceiptRoots``.
public struct AttestationRoots: Sendable {
    let anchors: TrustAnchors

    /// Apple App Attestation Root CA, valid until 2045-03-15.
    public static let apple = AttestationRoots(anchors: TrustAnchors(pinned: AppleRoots.appAttestation))

    private init(anchors: TrustAnchors) { self.anchors = anchors }

    /// Roots of your own, for example the device simulator's, as one or more PEM certificates.
    ///
    /// - Throws: `malformed.trust-root`.
    public init(pem: String) throws(MalformedInput) { anchors = try TrustAnchors(pem: pem) }

    /// SHA-256 over names and keys, in an order of their own: the same for the same authorities, also if one has signed its root again.
    package var fingerprint: [UInt8] {
        let parts = anchors.anchors.map {
            Array(SHA256.hash(data: $0.subject)) + Array(SHA256.hash(data: $0.key.point))
        }
        return Array(SHA256.hash(data: parts.sorted { $0.lexicographicallyPrecedes($1) }.flatMap { $0 }))
    }
}

/// The roots that receipts are traced to. Not interchangeable with ``AttestationRoots``.
public struct ReceiptRoots: Sendable {
    let anchors: TrustAnchors

    /// Apple Root CA - G3, valid until 2039-04-30.
    public static let apple = ReceiptRoots(anchors: TrustAnchors(pinned: AppleRoots.appleG3))

    private init(anchors: TrustAnchors) { self.anchors = anchors }

    /// Roots of your own, for example the device simulator's, as one or more PEM certificates.
    ///
    /// - Throws: `malformed.trust-root`.
    public init(pem: String) throws(MalformedInput) { anchors = try TrustAnchors(pem: pem) }
}

/// Certificates that are trusted because somebody chose them.
struct TrustAnchors: Sendable {
    let anchors: [Authority]
    /// The same certificates as DER.
    let encoded: [[UInt8]]
    /// The same certificates for swift-certificates.
    let certificates: [Certificate]

    init(pem: String) throws(MalformedInput) {
        func malformed(_ reason: String) -> MalformedInput {
            MalformedInput(code: .malformedTrustRoot, reason: reason)
        }
        guard let documents = try? PEMDocument.parseMultiple(pemString: pem), !documents.isEmpty else {
            throw malformed("a trust root must be given as one or more PEM certificates")
        }
        var anchors: [Authority] = []
        var certificates: [Certificate] = []
        for document in documents {
            guard document.discriminator == "CERTIFICATE" else {
                throw malformed("a trust root must be a PEM CERTIFICATE, not \(document.discriminator.prefix(40))")
            }
            let record: CertificateRecord
            do { record = try CertificateRecord(der: document.derBytes[...]) } catch {
                throw malformed("a trust root cannot be read as a certificate: \(error.reason)")
            }
            guard record.isAuthority, let key = SigningKey(record) else {
                throw malformed("a trust root must be a CA certificate with a P-256 or P-384 key")
            }
            guard let certificate = try? Certificate(derEncoded: document.derBytes) else {
                throw malformed("a trust root cannot be read as a certificate")
            }
            anchors.append(Authority(record, key: key))
            certificates.append(certificate)
        }
        self.anchors = anchors
        encoded = documents.map(\.derBytes)
        self.certificates = certificates
    }

    /// Roots that are part of the source. A root that cannot be read leaves no anchor, so that nothing is trusted; a test guards it.
    init(pinned pem: String) {
        self = (try? TrustAnchors(pem: pem)) ?? TrustAnchors()
    }

    private init() { (anchors, encoded, certificates) = ([], [], []) }

    /// Whether a certificate is one of these authorities: the same bytes, or the same name and key in a certificate that this key signed.
    ///
    /// A trust anchor is a name and a key (RFC 5280, section 6.1.1), and an authority may sign its root again. No byte of such a root is
    /// without meaning either: what the signature does not cover is compared or has one form.
    func hold(_ der: ArraySlice<UInt8>) -> Bool {
        if encoded.contains(where: der.elementsEqual) { return true }
        guard let record = try? CertificateRecord(der: der), record.isAuthority, record.issuer == record.subject,
            let key = SigningKey(record)
        else { return false }
        return anchors.contains {
            record.subject.elementsEqual($0.subject) && $0.key == key
                && $0.key.isValid(record.signature, for: record.signedPart, algorithm: record.signatureAlgorithm)
        }
    }
}

/// A certificate that may sign others, verified or chosen.
struct Authority: Sendable {
    /// The subject as DER.
    let subject: [UInt8]
    let key: SigningKey
    /// When this certificate, and everything above it, is valid.
    let notBefore: Date
    let notAfter: Date
    let isApplicationIntegration: Bool

    init(_ record: CertificateRecord, key: SigningKey, below issuer: Authority? = nil) {
        subject = Array(record.subject)
        self.key = key
        notBefore = max(record.notBefore, issuer?.notBefore ?? record.notBefore)
        notAfter = min(record.notAfter, issuer?.notAfter ?? record.notAfter)
        isApplicationIntegration = record.value(of: OID.applicationIntegrationCA) != nil
    }
}

/// The two roots, from https://www.apple.com/certificateauthority/ (read 2026-11-21).
enum AppleRoots {
    /// SHA-256 1CB9823BA28BA6AD2D33A006941DE2AE4F513EF1D4E831B9F7E0FA7B6242C932.
    static let appAttestation = """
        -----BEGIN CERTIFICATE-----
        MIICITCCAaegAwIBAgIQC/O+DvHN0uD7jG5yH2IXmDAKBggqhkjOPQQDAzBSMSYw
        JAYDVQQDDB1BcHBsZSBBcHAgQXR0ZXN0YXRpb24gUm9vdCBDQTETMBEGA1UECgwK
        QXBwbGUgSW5jLjETMBEGA1UECAwKQ2FsaWZvcm5pYTAeFw0yMDAzMTgxODMyNTNa
        Fw00NTAzMTUwMDAwMDBaMFIxJjAkBgNVBAMMHUFwcGxlIEFwcCBBdHRlc3RhdGlv
        biBSb290IENBMRMwEQYDVQQKDApBcHBsZSBJbmMuMRMwEQYDVQQIDApDYWxpZm9y
        bmlhMHYwEAYHKoZIzj0CAQYFK4EEACIDYgAERTHhmLW07ATaFQIEVwTtT4dyctdh
        NbJhFs/Ii2FdCgAHGbpphY3+d8qjuDngIN3WVhQUBHAoMeQ/cLiP1sOUtgjqK9au
        Yen1mMEvRq9Sk3Jm5X8U62H+xTD3FE9TgS41o0IwQDAPBgNVHRMBAf8EBTADAQH/
        MB0GA1UdDgQWBBSskRBTM72+aEH/pwyp5frq5eWKoTAOBgNVHQ8BAf8EBAMCAQYw
        CgYIKoZIzj0EAwMDaAAwZQIwQgFGnByvsiVbpTKwSga0kP0e8EeDS4+sQmTvb7vn
        53O5+FRXgeLhpJ06ysC5PrOyAjEAp5U4xDgEgllF7En3VcE3iexZZtKeYnpqtijV
        oyFraWVIyd/dganmrduC1bmTBGwD
        -----END CERTIFICATE-----
        """

    /// SHA-256 63343ABFB89A6A03EBB57E9B3F5FA7BE7C4F5C756F3017B3A8C488C3653E9179.
    static let appleG3 = """
        -----BEGIN CERTIFICATE-----
        MIICQzCCAcmgAwIBAgIILcX8iNLFS5UwCgYIKoZIzj0EAwMwZzEbMBkGA1UEAwwS
        QXBwbGUgUm9vdCBDQSAtIEczMSYwJAYDVQQLDB1BcHBsZSBDZXJ0aWZpY2F0aW9u
        IEF1dGhvcml0eTETMBEGA1UECgwKQXBwbGUgSW5jLjELMAkGA1UEBhMCVVMwHhcN
        MTQwNDMwMTgxOTA2WhcNMzkwNDMwMTgxOTA2WjBnMRswGQYDVQQDDBJBcHBsZSBS
        b290IENBIC0gRzMxJjAkBgNVBAsMHUFwcGxlIENlcnRpZmljYXRpb24gQXV0aG9y
        aXR5MRMwEQYDVQQKDApBcHBsZSBJbmMuMQswCQYDVQQGEwJVUzB2MBAGByqGSM49
        AgEGBSuBBAAiA2IABJjpLz1AcqTtkyJygRMc3RCV8cWjTnHcFBbZDuWmBSp3ZHtf
        TjjTuxxEtX/1H7YyYl3J6YRbTzBPEVoA/VhYDKX1DyxNB0cTddqXl5dvMVztK517
        IDvYuVTZXpmkOlEKMaNCMEAwHQYDVR0OBBYEFLuw3qFYM4iapIqZ3r6966/ayySr
        MA8GA1UdEwEB/wQFMAMBAf8wDgYDVR0PAQH/BAQDAgEGMAoGCCqGSM49BAMDA2gA
        MGUCMQCD6cHEFl4aXTQY2e3v9GwOAEZLuN+yRhHFD/3meoyhpmvOwgPUnPWTxnS4
        at+qIxUCMG1mihDK1A3UT82NQz60imOlM27jbdoXt2QfyFMm+YhidDkLF1vLUagM
        6BgD56KyKA==
        -----END CERTIFICATE-----
        """
}
