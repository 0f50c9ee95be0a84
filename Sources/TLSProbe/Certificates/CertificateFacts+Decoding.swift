// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Formats
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
        let members = try CertificateMembers(signed)
        let version = members.version.map { tagged in
            let number = try? tagged.explicit("version").magnitude("version")
            // 0 stands for no readable version.
            return number.map { $0.count > 1 ? 0 : Int($0.first ?? 0) + 1 } ?? 0
        }
        let serial = try members.serialNumber.primitive("serialNumber")
        let issuer = try DistinguishedName(members.issuer, "issuer")
        var validity = try DERReader(members.validity, "validity")
        let notBefore = try (try validity.required("notBefore")).moment("notBefore")
        let notAfter = try (try validity.required("notAfter")).moment("notAfter")
        let subject = try DistinguishedName(members.subject, "subject")
        let key = try PublicKeyFacts(members.key)
        let extensions = try members.extensions()
        var faults: [String] = []
        if members.signature.encodedBytes != frame.encodedAlgorithm {
            faults.append("names one signature algorithm in what is signed and another one outside")
        }
        if issuer.relativeNames.isEmpty { faults.append("names no issuer") }
        self.init(
            der: der, version: version ?? 1, subject: subject.text, issuer: issuer.text, subjectDER: subject.der,
            issuerDER: issuer.der, serialNumber: Array(serial).hexadecimal(uppercase: true), notBefore: notBefore,
            notAfter: notAfter, publicKey: key, signature: frame.algorithm.facts, commonNames: subject.commonNames,
            hasExtensions: extensions != nil, faults: faults)
        if let extensions { try read(extensions: extensions) }
    }
}
