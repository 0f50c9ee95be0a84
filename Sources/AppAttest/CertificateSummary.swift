// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Formats
package import FoundationEssentials
package import Vocabulary

/// A certificate for reading: nothing in it is verified.
package struct CertificateSummary: Sendable {
    package let subject: String
    package let issuer: String
    /// Lower-case hexadecimal.
    package let serialNumber: String
    package let notBefore: Date
    package let notAfter: Date
    /// `P-256`, `P-384` or `other`.
    package let key: String
    /// The system that the leaf names, and the access control of its key.
    package let facts: LeafFacts
    package let extensions: [ExtensionSummary]

    /// The identifier is for example `1.2.840.113635.100.8.2`.
    package typealias ExtensionSummary = (id: String, isCritical: Bool, value: [UInt8])

    /// - Throws: `malformed.certificate`.
    package init(der: some Collection<UInt8>) throws(MalformedInput) {
        let record: CertificateRecord
        do { record = try CertificateRecord(der: Array(der)[...]) } catch {
            throw MalformedInput(code: .malformedCertificate, reason: error.reason)
        }
        subject = CertificateSummary.name(record.subject)
        issuer = CertificateSummary.name(record.issuer)
        serialNumber = record.serialNumber.hexadecimal()
        notBefore = record.notBefore
        notAfter = record.notAfter
        switch record.keyCurve {
        case let curve? where curve.elementsEqual(OID.p256): key = "P-256"
        case let curve? where curve.elementsEqual(OID.p384): key = "P-384"
        default: key = "other"
        }
        facts = LeafFacts(record)
        extensions = record.extensions.map {
            (CertificateSummary.dotted($0.id), $0.isCritical, Array($0.value))
        }
    }

    /// `CN=..., O=...` in the order of the certificate.
    private static func name(_ der: ArraySlice<UInt8>) -> String {
        var parts: [String] = []
        do throws(ASN1Fault) {
            var sets = try ASN1Members(try ASN1Element(der, .der), "a name")
            while let set = try sets.next() {
                var pairs = try ASN1Members(set, "a name", tag: .set)
                while let pair = try pairs.next() {
                    var members = try ASN1Members(pair, "a name")
                    let id = try members.content(.objectIdentifier)
                    let value = try members.require().content
                    let text = String(validating: value, as: UTF8.self) ?? value.hexadecimal()
                    parts.append((shortNames[Array(id)] ?? dotted(id)) + "=" + text)
                }
            }
        } catch {
            parts.append("?")
        }
        return parts.joined(separator: ", ")
    }

    private static let shortNames: [[UInt8]: String] = [
        [0x55, 0x04, 0x03]: "CN", [0x55, 0x04, 0x06]: "C", [0x55, 0x04, 0x08]: "ST", [0x55, 0x04, 0x0A]: "O",
        [0x55, 0x04, 0x0B]: "OU",
    ]

    private static func dotted(_ content: ArraySlice<UInt8>) -> String {
        (try? ASN1Element.dotted(content)) ?? content.hexadecimal()
    }
}
