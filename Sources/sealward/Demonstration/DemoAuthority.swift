// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Crypto
import FoundationEssentials
import SwiftASN1
import X509
import _CryptoExtras

/// A certificate authority that exists for the length of the demonstration, and the certificates that it issues.
struct DemoAuthority {
    /// A server's certificate with its private key, both as DER.
    struct Identity: Sendable {
        let certificate: [UInt8]
        let privateKey: [UInt8]
    }

    private let key = Certificate.PrivateKey(P256.Signing.PrivateKey())
    private let name: DistinguishedName
    private let now: Date
    let rootPEM: String

    init(name text: String, now: Date) throws {
        self.now = now
        let subject = try DistinguishedName { CommonName(text) }
        name = subject
        let publicKey = key.publicKey
        let root = try Certificate(
            version: .v3,
            serialNumber: .init(),
            publicKey: publicKey,
            notValidBefore: now.addingTimeInterval(-3600),
            notValidAfter: now.addingTimeInterval(30 * 86_400),
            issuer: subject,
            subject: subject,
            signatureAlgorithm: .ecdsaWithSHA256,
            extensions: try Certificate.Extensions {
                Critical(BasicConstraints.isCertificateAuthority(maxPathLength: 0))
                Critical(KeyUsage(keyCertSign: true, cRLSign: true))
                SubjectKeyIdentifier(hash: publicKey)
            },
            issuerPrivateKey: key
        )
        rootPEM = try root.serializeAsPEM().pemString + "\n"
    }

    /// Issues a certificate for one host.
    ///
    /// - Parameters:
    ///   - daysLeft: How many days it is still valid; negative for one that has expired.
    ///   - usesRSA: An RSA key of 2048 bits instead of a P-256 key.
    func identity(for host: String, daysLeft: Double = 30, usesRSA: Bool = false) throws -> Identity {
        let own: Certificate.PrivateKey
        if usesRSA {
            own = Certificate.PrivateKey(try _RSA.Signing.PrivateKey(keySize: .bits2048))
        } else {
            own = Certificate.PrivateKey(P256.Signing.PrivateKey())
        }
        let certificate = try Certificate(
            version: .v3,
            serialNumber: .init(),
            publicKey: own.publicKey,
            notValidBefore: now.addingTimeInterval(min(-3600, (daysLeft - 60) * 86_400)),
            notValidAfter: now.addingTimeInterval(daysLeft * 86_400),
            issuer: name,
            subject: try DistinguishedName { CommonName(host) },
            signatureAlgorithm: .ecdsaWithSHA256,
            extensions: try Certificate.Extensions {
                Critical(BasicConstraints.notCertificateAuthority)
                Critical(KeyUsage(digitalSignature: true, keyEncipherment: usesRSA))
                try ExtendedKeyUsage([.serverAuth])
                SubjectAlternativeNames([.dnsName(host)])
                AuthorityKeyIdentifier(keyIdentifier: SubjectKeyIdentifier(hash: key.publicKey).keyIdentifier)
            },
            issuerPrivateKey: key
        )
        return Identity(
            certificate: try certificate.serializeAsPEM().derBytes, privateKey: try own.serializeAsPEM().derBytes)
    }
}
