// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Crypto
import FoundationEssentials

/// Named faults of attestations, for tests, the command line and the documentation alike.
public enum AttestationFault: String, Sendable, CaseIterable {
    /// The leaf contains the nonce of other client data.
    case wrongNonce = "wrong-nonce"
    /// The leaf has no nonce extension.
    case missingNonce = "missing-nonce"
    /// The leaf has the nonce extension twice.
    case duplicateNonce = "duplicate-nonce"
    /// The nonce extension does not have Apple's form.
    case malformedNonce = "malformed-nonce"
    /// Made for another app.
    case otherApp = "other-app"
    /// Made in the other environment.
    case otherEnvironment = "other-environment"
    /// The AAGUID is none of Apple's.
    case unknownEnvironment = "unknown-environment"
    /// The AAGUID is `appattestsandbox`.
    case sandboxEnvironment = "sandbox-environment"
    /// The leaf has expired.
    case expiredLeaf = "expired-leaf"
    /// The leaf is not valid yet.
    case leafNotYetValid = "leaf-not-yet-valid"
    /// One bit of the leaf's signature is changed.
    case corruptedLeafSignature = "corrupted-leaf-signature"
    /// One bit of the intermediate's signature is changed.
    case corruptedIntermediate = "corrupted-intermediate"
    /// Both certificates come from another CA.
    case foreignChain = "foreign-chain"
    /// Only the leaf is there.
    case missingIntermediate = "missing-intermediate"
    /// The root is there as well.
    case rootAppended = "root-appended"
    /// The intermediate comes first.
    case swappedCertificates = "swapped-certificates"
    /// The leaf is issued by another leaf.
    case leafAsIssuer = "leaf-as-issuer"
    /// The leaf claims to be a CA.
    case leafIsAuthority = "leaf-is-authority"
    /// The leaf has an unknown critical extension.
    case unknownCriticalExtension = "unknown-critical-extension"
    /// The leaf names one signature algorithm inside and another outside.
    case otherAlgorithmOutside = "other-algorithm-outside"
    /// The leaf's point is compressed.
    case compressedLeafKey = "compressed-leaf-key"
    /// The leaf's key is on P-384.
    case largerLeafKey = "larger-leaf-key"
    /// The counter is 1.
    case counterNotZero = "counter-not-zero"
    /// The credential id is not the hash of the key.
    case otherCredentialId = "other-credential-id"
    /// The COSE key is not the leaf's.
    case otherPublicKey = "other-public-key"
    /// The flag for attested credential data is clear.
    case noCredentialFlag = "no-credential-flag"
    /// The extension flag is set, but no map follows.
    case extensionFlagWithoutMap = "extension-flag-without-map"
    /// The extension map is present but its flag is clear, as Apple's systems send it.
    case mapWithoutExtensionFlag = "map-without-extension-flag"
    /// The extension map is present and its flag is set.
    case extensionFlagAndMap = "extension-flag-and-map"
    /// The extension map ends early.
    case truncatedExtensions = "truncated-extensions"
    /// Bytes follow the extension map.
    case extensionsFollowedByJunk = "extensions-followed-by-junk"
    /// The extensions are a text instead of a map.
    case extensionsAreText = "extensions-are-text"
    /// The validation category has fewer than four bytes.
    case shortCategory = "short-category"
    /// The validation category is a text.
    case textCategory = "text-category"
    /// The validation category is a number that Apple has not named.
    case unknownCategory = "unknown-category"
    /// The extension map has an additional key.
    case unknownExtensionKey = "unknown-extension-key"
    /// `fmt` is not `apple-appattest`.
    case otherFormat = "other-format"
    /// A byte follows the object.
    case trailingByte = "trailing-byte"
    /// A key occurs twice in the object's map.
    case duplicateKey = "duplicate-key"
    /// The receipt inside is of type RECEIPT.
    case otherReceiptType = "other-receipt-type"
    /// The receipt inside belongs to the other environment.
    case otherReceiptEnvironment = "other-receipt-environment"
    /// One bit of the receipt's signature is changed.
    case corruptedReceipt = "corrupted-receipt"

    /// The code with which a correct verifier refuses; nil if the attestation is accepted.
    public var expectedCode: String? {
        switch self {
        case .wrongNonce: "attest.nonce.mismatch"
        case .missingNonce: "attest.nonce.missing"
        case .duplicateNonce, .malformedNonce, .otherAlgorithmOutside, .compressedLeafKey, .largerLeafKey:
            "malformed.certificate"
        case .otherApp: "attest.app-id.mismatch"
        case .otherEnvironment, .sandboxEnvironment: "attest.environment.mismatch"
        case .unknownEnvironment: "attest.environment.unknown"
        case .expiredLeaf: "attest.chain.expired"
        case .leafNotYetValid: "attest.chain.not-yet-valid"
        case .corruptedLeafSignature: "attest.chain.signature"
        case .corruptedIntermediate, .foreignChain, .swappedCertificates, .leafAsIssuer, .leafIsAuthority,
            .unknownCriticalExtension:
            "attest.chain.untrusted"
        case .missingIntermediate, .rootAppended: "attest.chain.count"
        case .counterNotZero: "attest.counter.not-zero"
        case .otherCredentialId: "attest.credential-id.mismatch"
        case .otherPublicKey: "attest.public-key.mismatch"
        case .noCredentialFlag, .extensionFlagWithoutMap, .truncatedExtensions, .extensionsFollowedByJunk:
            "malformed.authenticator-data"
        case .extensionsAreText, .shortCategory, .textCategory: "attest.extensions.unknown-shape"
        case .otherFormat: "attest.format.unknown"
        case .trailingByte, .duplicateKey: "malformed.cbor"
        case .mapWithoutExtensionFlag, .extensionFlagAndMap, .unknownCategory, .unknownExtensionKey,
            .otherReceiptType, .otherReceiptEnvironment, .corruptedReceipt:
            nil
        }
    }

    /// The code of the receipt's own verdict; nil if that is accepted, or if nothing gets so far.
    package var expectedReceiptCode: String? {
        switch self {
        case .otherReceiptType: "receipt.type.mismatch"
        case .otherReceiptEnvironment: "receipt.environment.mismatch"
        case .corruptedReceipt: "receipt.signature.invalid"
        default: nil
        }
    }
}
