// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Crypto
import FoundationEssentials

/// Named faults of attestations, for tests, the command line and the documentation alike.
public enum AttestationFault: String, Sendable, CaseIterable {
    case wrongNonce = "wrong-nonce"
    case missingNonce = "missing-nonce"
    case duplicateNonce = "duplicate-nonce"
    case malformedNonce = "malformed-nonce"
    case otherApp = "other-app"
    case otherEnvironment = "other-environment"
    case unknownEnvironment = "unknown-environment"
    case sandboxEnvironment = "sandbox-environment"
    case expiredLeaf = "expired-leaf"
    case leafNotYetValid = "leaf-not-yet-valid"
    case corruptedLeafSignature = "corrupted-leaf-signature"
    case corruptedIntermediate = "corrupted-intermediate"
    case foreignChain = "foreign-chain"
    case missingIntermediate = "missing-intermediate"
    case rootAppended = "root-appended"
    case swappedCertificates = "swapped-certificates"
    case leafAsIssuer = "leaf-as-issuer"
    case leafIsAuthority = "leaf-is-authority"
    case unknownCriticalExtension = "unknown-critical-extension"
    case otherAlgorithmOutside = "other-algorithm-outside"
    case compressedLeafKey = "compressed-leaf-key"
    case largerLeafKey = "larger-leaf-key"
    case counterNotZero = "counter-not-zero"
    case otherCredentialID = "other-credential-id"
    case otherPublicKey = "other-public-key"
    case noCredentialFlag = "no-credential-flag"
    case extensionFlagWithoutMap = "extension-flag-without-map"
    case mapWithoutExtensionFlag = "map-without-extension-flag"
    case extensionFlagAndMap = "extension-flag-and-map"
    case truncatedExtensions = "truncated-extensions"
    case extensionsFollowedByJunk = "extensions-followed-by-junk"
    case extensionsAreText = "extensions-are-text"
    case shortCategory = "short-category"
    case textCategory = "text-category"
    case unknownCategory = "unknown-category"
    case unknownExtensionKey = "unknown-extension-key"
    case otherFormat = "other-format"
    case trailingByte = "trailing-byte"
    case duplicateKey = "duplicate-key"
    case otherReceiptType = "other-receipt-type"
    case otherReceiptEnvironment = "other-receipt-environment"
    case corruptedReceipt = "corrupted-receipt"

    /// The code with which a right verifier refuses; nil where the attestation is accepted.
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
        case .otherCredentialID: "attest.credential-id.mismatch"
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

    /// The code of the receipt's own verdict; nil where that is accepted, or where nothing gets so far.
    public var expectedReceiptCode: String? {
        switch self {
        case .otherReceiptType: "receipt.type.mismatch"
        case .otherReceiptEnvironment: "receipt.environment.mismatch"
        case .corruptedReceipt: "receipt.signature.invalid"
        default: nil
        }
    }
}
