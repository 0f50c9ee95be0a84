// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials

/// Named faults of receipts.
public enum ReceiptFault: String, Sendable, CaseIterable {
    case corruptedSignature = "corrupted-signature"
    case changedField = "changed-field"
    case unmarkedSigner = "unmarked-signer"
    case foreignRoot = "foreign-root"
    case noSigner = "no-signer"
    case twoSigners = "two-signers"
    case sha1Signer = "sha1-signer"
    case otherDigestInAttributes = "other-digest-in-attributes"
    case thousandCertificates = "thousand-certificates"
    case otherApp = "other-app"
    case otherKey = "other-key"
    case duplicateField = "duplicate-field"
    case missingType = "missing-type"
    case metricIsText = "metric-is-text"
    case metricIsNegative = "metric-is-negative"
    case metricIsHuge = "metric-is-huge"
    case expired = "expired"
    case fromTheFuture = "from-the-future"
    case truncated = "truncated"
    case nestingBomb = "nesting-bomb"
    case distinguishedEncoding = "distinguished-encoding"
    case signedAttributes = "signed-attributes"
    case unknownField = "unknown-field"

    /// The code with which a right verifier refuses; nil where the receipt is accepted.
    public var expectedCode: String? {
        switch self {
        case .corruptedSignature, .changedField, .sha1Signer, .otherDigestInAttributes: "receipt.signature.invalid"
        case .unmarkedSigner: "receipt.chain.marker-missing"
        case .foreignRoot: "receipt.chain.untrusted"
        case .noSigner, .twoSigners, .thousandCertificates, .truncated, .nestingBomb: "malformed.receipt"
        case .otherApp: "receipt.app-id.mismatch"
        case .otherKey: "receipt.public-key.mismatch"
        case .duplicateField: "receipt.field.duplicate"
        case .missingType: "receipt.field.missing"
        case .metricIsText, .metricIsNegative, .metricIsHuge: "receipt.field.invalid"
        case .expired: "receipt.expired"
        case .fromTheFuture: "receipt.from-the-future"
        case .distinguishedEncoding, .signedAttributes, .unknownField: nil
        }
    }

    func apply(to recipe: inout ReceiptRecipe, _ authority: SimulatedAuthority) throws {
        switch self {
        case .corruptedSignature: recipe.adjustSignature = { $0.dropLast() + [($0.last ?? 0) ^ 1] }
        case .changedField:
            recipe.adjustPayload = { payload in
                var payload = payload
                payload[payload.count - 2] ^= 1
                return payload
            }
        case .unmarkedSigner: recipe.signer = authority.unmarkedSigner
        case .foreignRoot:
            var random = SimulatorRandom()
            let foreign = try SimulatedAuthority(random: &random, validity: authority.validity)
            (recipe.signer, recipe.authority, recipe.root) =
                (foreign.receiptSigner, foreign.receiptCA, foreign.receiptRoot)
        case .noSigner: recipe.adjustSigners = { _ in [] }
        case .twoSigners: recipe.adjustSigners = { $0 + $0 }
        case .sha1Signer: recipe.digestAlgorithm = ASN1.object(1, 3, 14, 3, 2, 26)
        case .otherDigestInAttributes:
            recipe.content.signsAttributes = true
            recipe.adjustDigest = { [($0.first ?? 0) ^ 1] + $0.dropFirst() }
        case .thousandCertificates:
            // Small ones, so that the receipt stays under the limit of its size.
            recipe.adjustCertificates = { $0 + [[UInt8]](repeating: ASN1.sequence(ASN1.null), count: 1000) }
        case .otherApp: recipe.content.applicationID = "OTHER12345.com.example.other"
        case .otherKey: recipe.content.certificate = authority.receiptSigner.certificate
        case .duplicateField: recipe.adjustFields = { $0 + $0.filter { $0.number == 2 } }
        case .missingType: recipe.content.omittedFields.insert(6)
        case .metricIsText: setMetric(&recipe, "abc")
        case .metricIsNegative: setMetric(&recipe, "-1")
        case .metricIsHuge: setMetric(&recipe, "100000000000000000000")
        case .expired: recipe.content.expiration = recipe.content.creation.addingTimeInterval(-1)
        case .fromTheFuture: recipe.content.creation.addTimeInterval(3600)
        case .truncated: recipe.adjustMessage = { $0.dropLast() }
        case .nestingBomb:
            recipe.adjustMessage = { _ in (0..<4000).flatMap { _ in [0x30, 0x80] as [UInt8] } }
        case .distinguishedEncoding: recipe.content.encoding = .der
        case .signedAttributes: recipe.content.signsAttributes = true
        case .unknownField: recipe.content.otherFields[14] = Array("something new".utf8)
        }
    }

    private func setMetric(_ recipe: inout ReceiptRecipe, _ text: String) {
        recipe.content.type = .receipt
        recipe.content.riskMetric = 1
        recipe.content.otherFields[17] = Array(text.utf8)
    }
}
