// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Formats
package import TLSModel
package import Vocabulary

/// One extension of a certificate as it stands (RFC 5280 section 4.2).
package struct ExtensionEntry: Sendable {
    /// Dotted.
    package let identifier: String
    package let isCritical: Bool
    /// What the octet string contains.
    package let value: ArraySlice<UInt8>

    init(_ node: ASN1Element) throws(MalformedInput) {
        var reader = try DERReader(node, "extension")
        identifier = try reader.required("extnID").objectIdentifier("extnID")
        isCritical = reader.optional(.boolean).map { (try? $0.primitive("critical"))?.first != 0 } ?? false
        value = try reader.required("extnValue", .octetString).primitive("extnValue")
    }
}

/// The members of a certificate that ``TLSModel/CertificateFacts`` does not keep: read again by the few rules that ask for them.
package struct CertificateOutline: Sendable {
    /// The content bytes of the INTEGER.
    package let serialNumber: [UInt8]
    let subject: DistinguishedName
    package let extensions: [ExtensionEntry]

    /// - Throws: `malformed.certificate` if the bytes are not a DER certificate.
    package init(decoding der: [UInt8]) throws(MalformedInput) {
        try self.init(SignedCertificate.open(der).1)
    }

    /// The same of a certificate that was read before.
    package init(of certificate: CertificateFacts) throws(MalformedInput) {
        try self.init(SignedCertificate.open(certificate).1)
    }

    private init(_ signed: ASN1Element) throws(MalformedInput) {
        let members = try CertificateMembers(signed)
        serialNumber = Array(try members.serialNumber.primitive("serialNumber"))
        subject = try DistinguishedName(members.subject, "subject")
        var entries: [ExtensionEntry] = []
        if let extensions = try members.extensions() {
            var list = try DERReader(extensions, "extensions")
            while let entry = list.next() { entries.append(try ExtensionEntry(entry)) }
        }
        extensions = entries
    }

    /// The extension with this identifier; the first where it occurs twice, which is a fault of its own.
    package func entry(_ identifier: String) -> ExtensionEntry? { extensions.first { $0.identifier == identifier } }
}
