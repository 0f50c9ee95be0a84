// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

@testable import TLSModel
@testable import TLSProbe

/// Certificates and timestamps are made by `openssl`; the precertificate is the one that it made, not one that this code took apart.
@Suite struct TimestampVerifierTests {
    private struct Made {
        let leaf: CertificateFacts
        let issuer: CertificateFacts
        let timestamps: [SignedTimestamp]
    }

    private static func certificate(_ logs: [CertificateLog], overAnother: Bool = false) throws -> Made {
        let certification = try TestCertification()
        let root = try certification.root(subject: "/CN=Logged Root")
        let made = try certification.issue(
            "leaf", subject: "/CN=logged.example", issuer: root, extensions: TestCertification.server, days: 90
        ) { entry in try logs.map { try $0.timestamp(entry, overAnother: overAnother) } }
        let leaf = try CertificateFacts(decoding: made.der)
        return Made(
            leaf: leaf, issuer: try CertificateFacts(decoding: root.der),
            timestamps: leaf.embeddedTimestamps.flatMap { SignedTimestamp.list(decoding: $0) } ?? [])
    }

    @Test(arguments: [TestCertification.Key.curve("prime256v1"), .rsa(2048)])
    func aTimestampInTheCertificateIsForItsPrecertificate(_ key: TestCertification.Key) throws {
        let log = try CertificateLog("a log", of: "somebody", key: key)
        let made = try Self.certificate([log])
        let timestamp = try #require(made.timestamps.first)
        func verdict(
            _ source: SignedTimestamp.Source = .certificate, issuer: CertificateFacts?, key: [UInt8]
        ) -> SignatureVerdict {
            TimestampVerifier().verdict(on: timestamp, from: source, leaf: made.leaf, issuer: issuer, logKey: key)
        }
        #expect(verdict(issuer: made.issuer, key: log.publicKey) == .valid)
        // The hash of another issuer's key, and the certificate in place of the precertificate.
        #expect(verdict(issuer: made.leaf, key: log.publicKey) == .invalid)
        #expect(verdict(.tlsExtension, issuer: made.issuer, key: log.publicKey) == .invalid)
        let other = try CertificateLog("another", of: "somebody else", key: key)
        guard case .unverifiable = verdict(issuer: made.issuer, key: other.publicKey) else {
            Issue.record("another log's key was taken")
            return
        }
        guard case .unverifiable = verdict(issuer: nil, key: log.publicKey) else {
            Issue.record("no issuer was needed")
            return
        }
    }

    @Test func aTimestampThatCameBesideIsForTheCertificate() throws {
        let log = try CertificateLog("a log", of: "somebody")
        let made = try Self.certificate([])
        let bytes = CertificateLog.list([try log.timestamp(.certificate(made.leaf.der))])
        let timestamp = try #require(SignedTimestamp.list(decoding: bytes)?.first)
        for (source, expected) in [
            (SignedTimestamp.Source.tlsExtension, SignatureVerdict.valid), (.stapledResponse, .valid),
            (.certificate, .invalid),
        ] {
            #expect(
                TimestampVerifier()
                    .verdict(on: timestamp, from: source, leaf: made.leaf, issuer: made.issuer, logKey: log.publicKey)
                    == expected)
        }
    }

    @Test func aForgedTimestampAndEveryChangedPartAreInvalid() throws {
        let log = try CertificateLog("a log", of: "somebody")
        let forged = try Self.certificate([log], overAnother: true)
        let good = try Self.certificate([log])
        func verdict(_ timestamp: SignedTimestamp, _ made: Made) -> SignatureVerdict {
            TimestampVerifier()
                .verdict(on: timestamp, from: .certificate, leaf: made.leaf, issuer: made.issuer, logKey: log.publicKey)
        }
        #expect(verdict(try #require(forged.timestamps.first), forged) == .invalid)
        let timestamp = try #require(good.timestamps.first)
        #expect(verdict(timestamp, good) == .valid)
        // Of another certificate, at another time, with an extension, by another algorithm.
        #expect(verdict(timestamp, forged) == .invalid)
        func changed(
            milliseconds: UInt64? = nil, extensions: [UInt8] = [], algorithm: [UInt8] = [4, 3]
        ) -> SignedTimestamp {
            SignedTimestamp(
                version: 0, logIdentifier: timestamp.logIdentifier,
                milliseconds: milliseconds ?? timestamp.milliseconds, extensions: extensions, algorithm: algorithm,
                signature: timestamp.signature)
        }
        #expect(verdict(changed(milliseconds: timestamp.milliseconds + 1), good) == .invalid)
        #expect(verdict(changed(extensions: [1]), good) == .invalid)
        #expect(verdict(changed(algorithm: [2, 3]), good) == .invalid)
        #expect(verdict(changed(algorithm: [4, 1]), good) == .invalid)
        #expect(verdict(changed(), good) == .valid)
    }
}
