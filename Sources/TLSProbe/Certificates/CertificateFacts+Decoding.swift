// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Formats
import FoundationEssentials
public import TLSModel
public import Vocabulary

extension CertificateFacts {
    /// Reads an X.509 certificate (RFC 5280 section 4.1) and describes it, however weak its key and its signature are.
    ///
    /// A known extension whose content is malformed does not make the certificate unreadable: it counts as absent and is
    /// listed in ``CertificateFacts/malformedExtensions``.
    /// - Parameter der: the whole certificate, at most 128 KiB.
    /// - Throws: `malformed.certificate` if the bytes are not a DER certificate.
    public init(decoding der: [UInt8]) throws(MalformedInput) {
        let (frame, signed) = try SignedCertificate.open(der)
        var reader = try DERReader(signed, "tbsCertificate")
        let version = reader.optional(context: 0).map { tagged in
            let number = try? tagged.explicit("version").magnitude("version")
            // 0 stands for no readable version.
            return number.map { $0.count > 1 ? 0 : Int($0.first ?? 0) + 1 } ?? 0
        }
        let serial = try reader.required("serialNumber", .integer).primitive("serialNumber")
        let algorithm = try reader.required("signature", .sequence)
        let issuer = try DistinguishedName(try reader.required("issuer", .sequence), "issuer")
        var validity = try DERReader(try reader.required("validity", .sequence), "validity")
        let notBefore = try (try validity.required("notBefore")).moment("notBefore")
        let notAfter = try (try validity.required("notAfter")).moment("notAfter")
        let subject = try DistinguishedName(try reader.required("subject", .sequence), "subject")
        let key = try PublicKeyFacts(try reader.required("subjectPublicKeyInfo", .sequence))
        _ = reader.optional(context: 1)
        _ = reader.optional(context: 2)
        var extensions = CertificateExtensions()
        var hasExtensions = false
        if let tagged = reader.optional(context: 3) {
            hasExtensions = true
            try extensions.read(try tagged.explicit("extensions"))
        }
        var faults: [String] = []
        if algorithm.encodedBytes != frame.encodedAlgorithm {
            faults.append("names one signature algorithm in what is signed and another one outside")
        }
        if issuer.relativeNames.isEmpty { faults.append("names no issuer") }
        self.init(
            der: der, version: version ?? 1, subject: subject.text, issuer: issuer.text, subjectDER: subject.der,
            issuerDER: issuer.der, serialNumber: Array(serial).hexadecimal(uppercase: true), notBefore: notBefore,
            notAfter: notAfter, publicKey: key, signature: frame.algorithm.facts, commonNames: subject.commonNames,
            alternativeNames: extensions.alternativeNames, extendedKeyUsages: extensions.extendedKeyUsages,
            keyUsage: extensions.keyUsage, isAuthority: extensions.isAuthority,
            pathLengthConstraint: extensions.pathLength, issuerAddresses: extensions.issuerAddresses,
            responderAddresses: extensions.responderAddresses, subjectKeyIdentifier: extensions.subjectKeyIdentifier,
            authorityKeyIdentifier: extensions.authorityKeyIdentifier, embeddedTimestamps: extensions.timestamps,
            unknownCriticalExtensions: extensions.unknownCritical, malformedExtensions: extensions.malformed,
            hasNameConstraints: extensions.hasNameConstraints, hasExtensions: hasExtensions, faults: faults)
    }
}
