// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Formats
import Vocabulary

/// Fetches an intermediate certificate that a server left out, from the address in the certificate below it.
public protocol IntermediateFetcher: Sendable {
    /// The DER certificates behind a caIssuers address; empty if there are none or the fetch failed.
    ///
    /// - Parameters:
    ///   - address: an `http` URL, as the certificate has it.
    ///   - scope: the addresses that may be connected to.
    func certificates(at address: String, within scope: FetchScope) async -> [[UInt8]]
}

/// Finds the certificates in what a caIssuers address delivers: one DER certificate, PEM, or a PKCS #7 "certs-only" bundle
/// (RFC 5280 section 4.2.2.1).
package enum CertificateBundle {
    /// The certificates of a DER certificate, a PEM file or a PKCS #7 bundle, at most `limit`, DER.
    package static func certificates(in body: [UInt8], limit: Int = 8) -> [[UInt8]] {
        if body.first != 0x30 {
            return PEMBlocks.decode(body).prefix(limit).flatMap { certificates(in: $0, limit: 1) }
                + PEMBlocks.decode(body, labels: ["PKCS7", "CMS"]).prefix(1).flatMap { bundle($0, limit) }
        }
        if (try? SignedCertificate.open(body)) != nil { return [body] }
        return bundle(body, limit)
    }

    /// SignedData without signers (RFC 5652 section 5.1).
    private static func bundle(_ der: [UInt8], _ limit: Int) -> [[UInt8]] {
        guard let node = try? DERReader.parse(der[...], "bundle"), var content = try? DERReader(node, "bundle"),
            let type = content.next(), (try? type.objectIdentifier("bundle")) == "1.2.840.113549.1.7.2",
            let tagged = content.optional(context: 0), let signed = try? tagged.explicit("bundle"),
            var members = try? DERReader(signed, "bundle")
        else { return [] }
        while let member = members.next() {
            guard member.contextNumber == 0,
                var list = try? DERReader(member, "certificates")
            else { continue }
            var found: [[UInt8]] = []
            while found.count < limit, let certificate = list.next() { found.append(Array(certificate.encodedBytes)) }
            return found
        }
        return []
    }
}
