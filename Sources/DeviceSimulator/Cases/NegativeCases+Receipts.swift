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
                serialNumber: [0x77, UInt8(index)], issuer: names[1 - index], subject: names[index],
                notBefore: authority.validity.lowerBound, notAfter: authority.validity.upperBound,
                keyInfo: keys[index].keyInfo,
                extensions: [
                    .basicConstraints(authority: true), .keyUsage(0x06),
                    CertificateExtension(ASN1.apple(6, 2, 3), ASN1.null),
                ])
            return try recipe.signed(by: keys[1 - index])
        }
    }

    /// Another value of a field.
    private static func field(_ number: Int, _ what: String, _ value: [UInt8]) -> NegativeCase<ReceiptRecipe> {
        NegativeCase(79, what, "receipt.field.invalid") { $0.content.otherFields[number] = value }
    }

    /// The finished message, changed.
    private static func message(
        _ what: String, _ change: @escaping @Sendable (inout [UInt8]) -> Void
    ) -> NegativeCase<ReceiptRecipe> {
        NegativeCase(82, what, "malformed.receipt") {
            $0.adjustMessage = { message in
                var message = message
                change(&message)
                return message
            }
        }
    }

    /// Where the content of a message in chunks begins.
    private static func chunk(in message: [UInt8]) -> Int { message.firstRange(of: [0x24, 0x80])?.lowerBound ?? 0 }

    package static let receipts: [NegativeCase<ReceiptRecipe>] = [
        NegativeCase(68, "an empty signature", "receipt.signature.invalid") { $0.adjustSignature = { _ in [] } },
        NegativeCase(70, "an authority without its marker", "receipt.chain.untrusted") {
            $0.adjustCertificates = { Array($0.prefix(1)) }
        },
        NegativeCase(71, "no certificates", "receipt.signature.invalid") { $0.adjustCertificates = { _ in [] } },
        NegativeCase(71, "no root", nil) { $0.adjustCertificates = { Array($0.prefix(2)) } },
        NegativeCase(74, "the signer's certificate twice", nil) { $0.adjustCertificates = { [$0[0]] + $0 } },
        NegativeCase(74, "authorities that certify each other", "receipt.chain.untrusted") { recipe in
            let circle = try circle(recipe.authority)
            recipe.adjustCertificates = { [$0[0]] + circle }
        },
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
        field(3, "a key that is not a certificate", [1, 2, 3]),
        field(6, "an unknown type", Array("OTHER".utf8)),
        field(7, "an unknown environment", Array("test".utf8)),
        field(2, "an app that is not UTF-8", [0xFF]),
        field(12, "a creation that is not a time", Array("2026-13-01T00:00:00Z".utf8)),
        field(21, "an expiration that is not a time", Array("tomorrow".utf8)),
        field(17, "an empty metric", []),
        field(17, "a metric with a sign", Array("+1".utf8)),
        NegativeCase(79, "a metric of zeros", nil) { $0.content.otherFields[17] = Array("000000000".utf8) },
        NegativeCase(80, "a first receipt with a metric", "receipt.type.mismatch") {
            $0.content.type = .attest
            $0.content.riskMetric = 3
        },
        NegativeCase(81, "the other environment", "receipt.environment.mismatch") { $0.content.isProduction = false },
        message("a chunk that claims more") { $0[chunk(in: $0) + 4] = 0xFF },
        message("a chunk that claims less") { $0[chunk(in: $0) + 5] -= 1 },
        message("no end of the contents") { $0.removeLast(2) },
        message("one end of the contents too many") { $0 += [0, 0] },
        message("a byte after the end") { $0.append(0) },
        message("the content is nested deeper") { $0.insert(contentsOf: [0x24, 0x80], at: chunk(in: $0)) },
        message("empty") { $0 = [] },
        NegativeCase(82, "more than 64 KiB", "malformed.too-large") {
            $0.adjustMessage = { _ in [UInt8](repeating: 0x30, count: 65537) }
        },
        NegativeCase(84, "DER with signed attributes", nil) {
            $0.content.encoding = .der
            $0.content.signsAttributes = true
        },
    ]
}
