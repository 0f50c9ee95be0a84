// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials

/// Every part of a receipt's message, so that faults and tests can change any of them.
package struct ReceiptRecipe: Sendable {
    package var content: SimulatedReceipt
    package let authority: SimulatedAuthority
    package var signer: SimulatedAuthority.Certified
    /// Changes the list of fields before it is encoded.
    package var adjustFields: @Sendable ([(number: Int, value: [UInt8])]) -> [(number: Int, value: [UInt8])] = { $0 }
    /// Changes the content after it was signed.
    package var adjustPayload: @Sendable ([UInt8]) -> [UInt8] = { $0 }
    package var adjustSignature: @Sendable ([UInt8]) -> [UInt8] = { $0 }
    package var adjustCertificates: @Sendable ([[UInt8]]) -> [[UInt8]] = { $0 }
    /// Changes the signer infos: one by default.
    package var adjustSigners: @Sendable ([[UInt8]]) -> [[UInt8]] = { $0 }
    package var digestAlgorithm = ASN1.object(2, 16, 840, 1, 101, 3, 4, 2, 1)
    /// Changes the digest in the signed attributes.
    package var adjustDigest: @Sendable ([UInt8]) -> [UInt8] = { $0 }
    /// Changes the finished message.
    package var adjustMessage: @Sendable ([UInt8]) -> [UInt8] = { $0 }

    package init(content: SimulatedReceipt, authority: SimulatedAuthority) {
        self.content = content
        self.authority = authority
        signer = authority.receiptSigner
    }

    /// CMS SignedData (RFC 5652) in the form that Apple's receipts have.
    package func message() throws -> [UInt8] {
        let fields = adjustFields(content.fields).map { field in
            ASN1.sequence(ASN1.integer(field.number), ASN1.integer(1), ASN1.octets(field.value))
        }
        let payload = ASN1.node(0x31, fields.flatMap { $0 })
        let attributes = content.signsAttributes ? self.attributes(of: payload) : []
        // The attributes are signed with the tag of a SET and sent with the tag [0].
        let signed = content.signsAttributes ? ASN1.node(0x31, attributes) : payload
        let signature = adjustSignature(try signer.key.sign(signed))
        let algorithm = ASN1.sequence(digestAlgorithm, ASN1.null)
        let info = ASN1.sequence(
            ASN1.integer(1), ASN1.sequence(authority.receiptCA.subject, serialNumber(of: signer)), algorithm,
            content.signsAttributes ? ASN1.node(0xA0, attributes) : [],
            ASN1.sequence(ASN1.object(1, 2, 840, 10045, 4, 3, 2)), ASN1.octets(signature))
        let bag = adjustCertificates([signer, authority.receiptCA, authority.receiptRoot].map(\.certificate))
        return adjustMessage(
            assemble(adjustPayload(payload), algorithm, bag.flatMap { $0 }, adjustSigners([info]).flatMap { $0 }))
    }

    private func assemble(_ payload: [UInt8], _ algorithm: [UInt8], _ bag: [UInt8], _ signers: [UInt8]) -> [UInt8] {
        let data = ASN1.object(1, 2, 840, 113549, 1, 7, 1)
        let signedData = ASN1.object(1, 2, 840, 113549, 1, 7, 2)
        let isBER = content.encoding == .ber
        func node(_ tag: UInt8, _ members: [UInt8]...) -> [UInt8] {
            let content = members.flatMap { $0 }
            return isBER ? ASN1.indefinite(tag, content) : ASN1.node(tag, content)
        }
        let chunks = stride(from: 0, to: payload.count, by: 1000).flatMap { start in
            ASN1.octets(Array(payload[start..<min(start + 1000, payload.count)]))
        }
        let inner = node(0x30, data, node(0xA0, isBER ? node(0x24, chunks) : ASN1.octets(payload)))
        let message = node(
            0x30, ASN1.integer(1), ASN1.set(algorithm), inner, node(0xA0, bag), ASN1.node(0x31, signers))
        return node(0x30, signedData, node(0xA0, message))
    }

    /// Content type and message digest, in the order that DER asks of a set.
    private func attributes(of payload: [UInt8]) -> [UInt8] {
        let digest = adjustDigest(sha256(payload))
        return [
            ASN1.sequence(ASN1.object(1, 2, 840, 113549, 1, 9, 3), ASN1.set(ASN1.object(1, 2, 840, 113549, 1, 7, 1))),
            ASN1.sequence(ASN1.object(1, 2, 840, 113549, 1, 9, 4), ASN1.set(ASN1.octets(digest))),
        ]
        .flatMap { $0 }
    }

    /// The INTEGER of a certificate's serial number, as encoded there.
    private func serialNumber(of certified: SimulatedAuthority.Certified) -> [UInt8] {
        // Certificate and signed part both have long lengths, then come [0] with the version, and the number.
        let rest = certified.certificate.dropFirst(8 + 5)
        return Array(rest.prefix(2 + Int(rest.dropFirst().first ?? 0)))
    }
}
