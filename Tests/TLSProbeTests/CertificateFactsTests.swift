// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TLSModel
import TLSProbe
import TestSupport
import Testing
import Vocabulary

@Suite struct CertificateFactsTests {
    struct Sample: Sendable, CustomTestStringConvertible {
        let key: TestCertification.Key
        let digest: String
        let kind: PublicKeyFacts.Kind
        let hash: SignatureFacts.Hash
        var signing: [String] = []
        var testDescription: String { "\(key) \(digest)" }
    }

    static let samples = [
        Sample(key: .rsa(1024), digest: "sha256", kind: .rsa(bits: 1024), hash: .sha256),
        Sample(key: .rsa(512), digest: "md5", kind: .rsa(bits: 512), hash: .md5),
        Sample(key: .rsa(2048), digest: "sha1", kind: .rsa(bits: 2048), hash: .sha1),
        Sample(
            key: .rsa(2048), digest: "sha384", kind: .rsa(bits: 2048), hash: .sha384,
            signing: ["-sigopt", "rsa_padding_mode:pss", "-sigopt", "rsa_pss_saltlen:48"]),
        Sample(
            key: .curve("secp224r1"), digest: "sha224", kind: .ellipticCurve(curve: "P-224", bits: 224), hash: .sha224),
        Sample(
            key: .curve("prime256v1"), digest: "sha256", kind: .ellipticCurve(curve: "P-256", bits: 256), hash: .sha256),
        Sample(
            key: .curve("secp384r1"), digest: "sha384", kind: .ellipticCurve(curve: "P-384", bits: 384), hash: .sha384),
        Sample(
            key: .curve("secp521r1"), digest: "sha512", kind: .ellipticCurve(curve: "P-521", bits: 521), hash: .sha512),
        Sample(
            key: .curve("secp256k1"), digest: "sha1", kind: .ellipticCurve(curve: "secp256k1", bits: 256), hash: .sha1),
    ]

    @Test("Every key and every signature is described, the weak ones too", arguments: samples)
    func strength(_ sample: Sample) throws {
        let certification = try TestCertification()
        let made = try certification.issue(
            "sample", subject: "/CN=sample", key: sample.key, digest: sample.digest, signing: sample.signing)
        let facts = try CertificateFacts(decoding: made.der)
        #expect(facts.publicKey.kind == sample.kind)
        #expect(facts.signature.hash == sample.hash)
        let fingerprint = try OpenSSLProgram.run(["x509", "-in", made.certificatePath, "-noout", "-serial"])
        #expect(fingerprint.contains(facts.serialNumber.drop { $0 == "0" }))
    }

    @Test func everyExtensionIsRead() throws {
        let certification = try TestCertification()
        let made = try certification.issue(
            "full",
            subject: "/C=DE/O=Smith, Jones \\+ Sons/CN=full.example",
            extensions: [
                "subjectAltName=DNS:a.example,DNS:*.b.example,IP:192.0.2.1,IP:2001:db8::1,email:x@example.com",
                "basicConstraints=critical,CA:TRUE,pathlen:3", "keyUsage=critical,digitalSignature,keyCertSign",
                "extendedKeyUsage=serverAuth,1.2.3.4", "subjectKeyIdentifier=hash",
                "authorityInfoAccess=caIssuers;URI:http://ca.example/ca.crt,OCSP;URI:http://ocsp.example",
                "certificatePolicies=critical,1.2.3.4", "1.2.3.99=critical,ASN1:NULL", "1.2.3.98=ASN1:NULL",
            ]
        )
        let facts = try CertificateFacts(decoding: made.der)
        #expect(facts.subject == #"CN=full.example,O=Smith\, Jones \+ Sons,C=DE"#)
        #expect(facts.commonNames == ["full.example"])
        #expect(facts.alternativeNames?.dnsNames == ["a.example", "*.b.example"])
        #expect(facts.alternativeNames?.addresses.map(\.count) == [4, 16])
        #expect(facts.isAuthority == true && facts.pathLengthConstraint == 3)
        #expect(facts.keyUsage == [0, 5])
        #expect(facts.extendedKeyUsages == ["1.3.6.1.5.5.7.3.1", "1.2.3.4"])
        #expect(facts.issuerAddresses == ["http://ca.example/ca.crt"])
        #expect(facts.responderAddresses == ["http://ocsp.example"])
        #expect(facts.subjectKeyIdentifier?.count == 20)
        #expect(facts.unknownCriticalExtensions == ["1.2.3.99"])
        #expect(facts.malformedExtensions.isEmpty)
        #expect(facts.notAfter.timeIntervalSince(facts.notBefore) == 90 * 86_400)
    }

    @Test func malformedExtensionIsNamedAndTheCertificateStaysReadable() throws {
        let certification = try TestCertification()
        let made = try certification.issue(
            "bad", subject: "/CN=bad",
            extensions: ["2.5.29.17=critical,ASN1:UTF8String:nonsense", "2.5.29.19=DER:30820100"])
        let facts = try CertificateFacts(decoding: made.der)
        #expect(facts.malformedExtensions == ["2.5.29.17", "2.5.29.19"])
        #expect(facts.alternativeNames == nil)
    }

    @Test func everyTruncationAndEveryFlippedByteIsHandled() throws {
        let certification = try TestCertification()
        let made = try certification.issue("cut", subject: "/CN=cut", extensions: TestCertification.server)
        for length in made.der.indices {
            #expect(throws: MalformedInput(code: "malformed.certificate", reason: "")) {
                _ = try CertificateFacts(decoding: Array(made.der[..<length]))
            }
        }
        for index in made.der.indices {
            for change: UInt8 in [0x01, 0x80, 0xFF] {
                var der = made.der
                der[index] ^= change
                guard let facts = try? CertificateFacts(decoding: der) else { continue }
                _ = facts.signatureVerdict(under: facts.publicKey)
            }
        }
    }

    @Test func everyRootOfTheSystemIsDescribed() throws {
        let store = try TrustAnchors.system()
        #expect(store.anchors.count > 100)
        for anchor in store.anchors {
            let facts = try CertificateFacts(decoding: anchor.der)
            #expect(facts.isSelfIssued && facts.malformedExtensions.isEmpty && facts.unknownCriticalExtensions.isEmpty)
        }
    }
}
