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
    package var expectedCode: String? {
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
            var random = authority.random(for: rawValue, of: recipe.content.certificate)
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
        case .otherApp: recipe.content.applicationId = "OTHER12345.com.example.other"
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
