// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

extension NegativeCases {
    /// Two authorities with the names of the signer's authority and its root, each of which signed the other.
    private static func circle(_ authority: SimulatedAuthority) throws -> [[UInt8]] {
        var random = authority.random(for: "circle", of: [])
        let keys = [SimulatorKey.p256(random.p256()), .p256(random.p256())]
        let names = [authority.receiptCA.subject, authority.receiptRoot.subject]
        return try [0, 1].map { index in
            let recipe = CertificateRecipe(
                serialNumber: [0x77, UInt8(index)],
                issuer: names[1 - index],
                subject: names[index],
                notBefore: authority.validity.lowerBound,
                notAfter: authority.validity.upperBound,
                keyInfo: keys[index].keyInfo,
                extensions: [
                    .basicConstraints(authority: true), .keyUsage(0x06),
                    CertificateExtension(ASN1.apple(6, 2, 3), ASN1.null),
                ]
            )
            return try recipe.signed(by: keys[1 - index])
        }
    }

    package static let receipts: [NegativeCase<ReceiptRecipe>] = [
        NegativeCase(68, "an empty signature", "receipt.signature.invalid") { $0.adjustSignature = { _ in [] } },
        NegativeCase(70, "an authority without its marker", "receipt.chain.untrusted") {
            $0.adjustCertificates = { Array($0.prefix(1)) }
        },
        NegativeCase(71, "no certificates", "receipt.signature.invalid") { $0.adjustCertificates = { _ in [] } },
        NegativeCase(71, "no root", nil) { $0.adjustCertificates = { Array($0.prefix(2)) } },
        NegativeCase(74, "the signer's certificate twice", nil) { $0.adjustCertificates = { [$0[0]] + $0 } },
        NegativeCase(
            74,
            "authorities that certify each other",
            "receipt.chain.untrusted",
            taking: { recipe, authority in
                let circle = try circle(authority)
                recipe.adjustCertificates = { [$0[0]] + circle }
            }
        ),
        NegativeCase(74, "the signer certifies itself", "receipt.chain.untrusted") { recipe in
            recipe.adjustCertificates = { [$0[0], $0[0]] }
        },
        NegativeCase(74, "certificates in another order", nil) { $0.adjustCertificates = { $0.reversed() } },
        NegativeCase(74, "17 certificates", "malformed.receipt") {
            $0.adjustCertificates = { $0 + [[UInt8]](repeating: $0[0], count: 14) }
        },
        NegativeCase(79, "no app", "receipt.field.missing") { $0.content.omittedFields = [2] },
        NegativeCase(79, "no key", "receipt.field.missing") { $0.content.omittedFields = [3] },
        NegativeCase(79, "no creation", "receipt.field.missing") { $0.content.omittedFields = [12] },
        NegativeCase(79, "no environment", nil) { $0.content.omittedFields = [7] },
        NegativeCase(79, "a key that is not a certificate", "receipt.field.invalid") {
            $0.content.otherFields[3] = [1, 2, 3]
        },
        NegativeCase(79, "an unknown type", "receipt.field.invalid") {
            $0.content.otherFields[6] = Array("OTHER".utf8)
        },
        NegativeCase(79, "an unknown environment", "receipt.field.invalid") {
            $0.content.otherFields[7] = Array("test".utf8)
        },
        NegativeCase(79, "an app that is not UTF-8", "receipt.field.invalid") { $0.content.otherFields[2] = [0xFF] },
        NegativeCase(79, "a creation that is not a time", "receipt.field.invalid") {
            $0.content.otherFields[12] = Array("2026-13-01T00:00:00Z".utf8)
        },
        NegativeCase(79, "an expiration that is not a time", "receipt.field.invalid") {
            $0.content.otherFields[21] = Array("tomorrow".utf8)
        },
        NegativeCase(79, "an empty metric", "receipt.field.invalid") { $0.content.otherFields[17] = [] },
        NegativeCase(79, "a metric with a sign", "receipt.field.invalid") {
            $0.content.otherFields[17] = Array("+1".utf8)
        },
        NegativeCase(79, "a metric of zeros", nil) { $0.content.otherFields[17] = Array("000000000".utf8) },
        NegativeCase(80, "a first receipt with a metric", "receipt.type.mismatch") {
            $0.content.type = .attest
            $0.content.riskMetric = 3
        },
        NegativeCase(81, "the other environment", "receipt.environment.mismatch") { $0.content.isProduction = false },
        NegativeCase(82, "a chunk that claims more", "malformed.receipt") {
            $0.adjustMessage = { message in
                var message = message
                if let start = message.indices.first(where: { message[$0...].starts(with: [0x24, 0x80, 0x04, 0x82]) }) {
                    message[start + 4] = 0xFF
                }
                return message
            }
        },
        NegativeCase(82, "a chunk that claims less", "malformed.receipt") {
            $0.adjustMessage = { message in
                var message = message
                if let start = message.indices.first(where: { message[$0...].starts(with: [0x24, 0x80, 0x04, 0x82]) }) {
                    message[start + 5] -= 1
                }
                return message
            }
        },
        NegativeCase(82, "no end of the contents", "malformed.receipt") { $0.adjustMessage = { $0.dropLast(2) } },
        NegativeCase(82, "one end of the contents too many", "malformed.receipt") {
            $0.adjustMessage = { $0 + [0, 0] }
        },
        NegativeCase(82, "a byte after the end", "malformed.receipt") { $0.adjustMessage = { $0 + [0] } },
        NegativeCase(82, "the content is nested deeper", "malformed.receipt") {
            $0.adjustMessage = { message in
                guard let start = message.indices.first(where: { message[$0...].starts(with: [0x24, 0x80]) }) else {
                    return []
                }
                return message[..<start] + [UInt8](repeating: 0x24, count: 1) + [0x80] + message[start...]
            }
        },
        NegativeCase(82, "empty", "malformed.receipt") { $0.adjustMessage = { _ in [] } },
        NegativeCase(82, "more than 64 KiB", "malformed.too-large") {
            $0.adjustMessage = { _ in [UInt8](repeating: 0x30, count: 65537) }
        },
        NegativeCase(84, "DER with signed attributes", nil) {
            $0.content.encoding = .der
            $0.content.signsAttributes = true
        },
    ]
}
