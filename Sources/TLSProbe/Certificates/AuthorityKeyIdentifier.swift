// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

/// The members of an authorityKeyIdentifier extension (RFC 5280 section 4.2.1.1).
package struct AuthorityKeyIdentifier: Sendable {
    package let keyIdentifier: [UInt8]?
    /// Whether it names the issuer's issuer or serial number.
    package let namesCertificate: Bool

    /// Nil if the certificate has none that can be read.
    package init?(_ outline: CertificateOutline) {
        guard let entry = outline.entry("2.5.29.35"),
            let node = try? DERReader.parse(entry.value, "authorityKeyIdentifier"),
            var reader = try? DERReader(node, "authorityKeyIdentifier")
        else { return nil }
        keyIdentifier = reader.optional(context: 0).flatMap { node in
            (try? node.primitive("keyIdentifier")).map(Array.init)
        }
        namesCertificate = reader.next() != nil
    }
}
