// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import Vocabulary

/// Every code that this module refuses with.
extension Code {

    package static let attestFormatUnknown: Code = "attest.format.unknown"
    package static let attestChainCount: Code = "attest.chain.count"
    package static let attestChainUntrusted: Code = "attest.chain.untrusted"
    package static let attestChainExpired: Code = "attest.chain.expired"
    package static let attestChainNotYetValid: Code = "attest.chain.not-yet-valid"
    package static let attestChainSignature: Code = "attest.chain.signature"
    package static let attestNonceMissing: Code = "attest.nonce.missing"
    package static let attestNonceMismatch: Code = "attest.nonce.mismatch"
    package static let attestKeyIdMismatch: Code = "attest.key-id.mismatch"
    package static let attestAppIdMismatch: Code = "attest.app-id.mismatch"
    package static let attestCounterNotZero: Code = "attest.counter.not-zero"
    package static let attestEnvironmentMismatch: Code = "attest.environment.mismatch"
    package static let attestEnvironmentUnknown: Code = "attest.environment.unknown"
    package static let attestCredentialIdMismatch: Code = "attest.credential-id.mismatch"
    package static let attestPublicKeyMismatch: Code = "attest.public-key.mismatch"
    package static let attestExtensionsUnknownShape: Code = "attest.extensions.unknown-shape"
    package static let attestPolicyValidationCategory: Code = "attest.policy.validation-category"
    package static let attestPolicyBundleVersion: Code = "attest.policy.bundle-version"
    package static let attestPolicyAccessControl: Code = "attest.policy.access-control"

    package static let assertSignatureInvalid: Code = "assert.signature.invalid"
    package static let assertAppIdMismatch: Code = "assert.app-id.mismatch"
    package static let assertCounterReplayed: Code = "assert.counter.replayed"
    package static let assertExtensionsUnknownShape: Code = "assert.extensions.unknown-shape"
    package static let assertPolicyValidationCategory: Code = "assert.policy.validation-category"
    package static let assertPolicyBundleVersion: Code = "assert.policy.bundle-version"

    package static let receiptSignatureInvalid: Code = "receipt.signature.invalid"
    package static let receiptChainUntrusted: Code = "receipt.chain.untrusted"
    package static let receiptChainMarkerMissing: Code = "receipt.chain.marker-missing"
    package static let receiptAppIdMismatch: Code = "receipt.app-id.mismatch"
    package static let receiptPublicKeyMismatch: Code = "receipt.public-key.mismatch"
    package static let receiptExpired: Code = "receipt.expired"
    package static let receiptTooOld: Code = "receipt.too-old"
    package static let receiptFromTheFuture: Code = "receipt.from-the-future"
    package static let receiptFieldMissing: Code = "receipt.field.missing"
    package static let receiptFieldDuplicate: Code = "receipt.field.duplicate"
    package static let receiptFieldInvalid: Code = "receipt.field.invalid"
    package static let receiptTypeMismatch: Code = "receipt.type.mismatch"
    package static let receiptEnvironmentMismatch: Code = "receipt.environment.mismatch"
}
