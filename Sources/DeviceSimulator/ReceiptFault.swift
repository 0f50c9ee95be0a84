// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials

/// Named faults of receipts.
public enum ReceiptFault: String, Sendable, CaseIterable {
    /// One bit of the signature is changed.
    case corruptedSignature = "corrupted-signature"
    /// A field is changed after signing.
    case changedField = "changed-field"
    /// The signer lacks Apple's marker extension.
    case unmarkedSigner = "unmarked-signer"
    /// The chain ends at another root, which is embedded.
    case foreignRoot = "foreign-root"
    /// No signer at all.
    case noSigner = "no-signer"
    /// Two signers.
    case twoSigners = "two-signers"
    /// Signed over SHA-1.
    case sha1Signer = "sha1-signer"
    /// The signed attributes contain another digest.
    case otherDigestInAttributes = "other-digest-in-attributes"
    /// A thousand certificates are embedded.
    case thousandCertificates = "thousand-certificates"
    /// Made for another app.
    case otherApp = "other-app"
    /// Made for another key.
    case otherKey = "other-key"
    /// A field occurs twice.
    case duplicateField = "duplicate-field"
    /// The type is absent.
    case missingType = "missing-type"
    /// The risk metric is not a number.
    case metricIsText = "metric-is-text"
    /// The risk metric is below zero.
    case metricIsNegative = "metric-is-negative"
    /// The risk metric does not fit 64 bits.
    case metricIsHuge = "metric-is-huge"
    /// The receipt has expired.
    case expired = "expired"
    /// The receipt was made in the future.
    case fromTheFuture = "from-the-future"
    /// The last byte is missing.
    case truncated = "truncated"
    /// Constructed strings inside one another, a thousand deep.
    case nestingBomb = "nesting-bomb"
    /// DER instead of the BER that Apple sends: valid.
    case distinguishedEncoding = "distinguished-encoding"
    /// With signed attributes, which Apple's lack: valid.
    case signedAttributes = "signed-attributes"
    /// A field that Apple's lack: valid.
    case unknownField = "unknown-field"

    /// The code with which a correct verifier refuses; nil if the receipt is accepted.
    package var expectedCode: String? { row.code }
}

extension ReceiptFault: CataloguedFault {
    /// The row of the catalogue: group, code and change.
    package var row: NegativeCase<ReceiptRecipe> {
        switch self {
        case .corruptedSignature: row(68, "receipt.signature.invalid") { $0.adjustSignature = lastBitFlipped }
        case .changedField:
            row(69, "receipt.signature.invalid") {
                $0.adjustPayload = { $0.dropLast(2) + [$0[$0.count - 2] ^ 1] + $0.suffix(1) }
            }
        case .unmarkedSigner:
            row(70, "receipt.chain.marker-missing") { $0.signer = $0.authority.unmarkedSigner }
        case .foreignRoot:
            row(71, "receipt.chain.untrusted") { recipe in
                var random = recipe.authority.random(for: rawValue, of: recipe.content.certificate)
                let foreign = try SimulatedAuthority(random: &random, validity: recipe.authority.validity)
                recipe = ReceiptRecipe(content: recipe.content, authority: foreign)
            }
        case .noSigner: row(72, "malformed.receipt") { $0.adjustSigners = { _ in [] } }
        case .twoSigners: row(72, "malformed.receipt") { $0.adjustSigners = { $0 + $0 } }
        case .sha1Signer:
            row(73, "receipt.signature.invalid") { $0.digestAlgorithm = ASN1.object(1, 3, 14, 3, 2, 26) }
        case .otherDigestInAttributes:
            row(73, "receipt.signature.invalid") {
                $0.content.signsAttributes = true
                $0.adjustDigest = { [($0.first ?? 0) ^ 1] + $0.dropFirst() }
            }
        case .thousandCertificates:
            row(74, "malformed.receipt") {
                // Small ones, so that the receipt stays under the limit of its size.
                $0.adjustCertificates = { $0 + [[UInt8]](repeating: ASN1.sequence(ASN1.null), count: 1000) }
            }
        case .otherApp:
            row(75, "receipt.app-id.mismatch") { $0.content.applicationId = SimulatedApp.other }
        case .otherKey:
            row(76, "receipt.public-key.mismatch") { $0.content.certificate = $0.authority.receiptSigner.certificate }
        case .duplicateField:
            row(79, "receipt.field.duplicate") { $0.adjustFields = { $0 + $0.filter { $0.number == 2 } } }
        case .missingType: row(79, "receipt.field.missing") { $0.content.omittedFields.insert(6) }
        case .metricIsText: row(79, "receipt.field.invalid") { $0.setMetric("abc") }
        case .metricIsNegative: row(79, "receipt.field.invalid") { $0.setMetric("-1") }
        case .metricIsHuge: row(79, "receipt.field.invalid") { $0.setMetric("100000000000000000000") }
        case .expired:
            row(78, "receipt.expired") { $0.content.expiration = $0.content.creation.addingTimeInterval(-1) }
        case .fromTheFuture: row(77, "receipt.from-the-future") { $0.content.creation.addTimeInterval(3600) }
        case .truncated: row(82, "malformed.receipt") { $0.adjustMessage = { $0.dropLast() } }
        case .nestingBomb:
            row(82, "malformed.receipt") {
                $0.adjustMessage = { _ in (0..<4000).flatMap { _ in [0x30, 0x80] as [UInt8] } }
            }
        case .distinguishedEncoding: row(84, nil) { $0.content.encoding = .der }
        case .signedAttributes: row(nil, nil) { $0.content.signsAttributes = true }
        case .unknownField: row(nil, nil) { $0.content.otherFields[14] = Array("something new".utf8) }
        }
    }
}

extension ReceiptRecipe {
    fileprivate mutating func setMetric(_ text: String) {
        content.type = .receipt
        content.riskMetric = 1
        content.otherFields[17] = Array(text.utf8)
    }
}
