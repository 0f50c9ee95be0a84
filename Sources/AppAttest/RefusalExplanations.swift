// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import Vocabulary

/// What each refusal of the verifiers means, and who does what about it.
package enum RefusalExplanations {
    /// Refused attestations.
    package static let attestations: [CodeExplanation] = [
        .init(.attestFormatUnknown, "`fmt` is not apple-appattest", .developer, send),
        .init(.attestChainCount, "not exactly two certificates", .developer, send),
        .init(
            .attestChainUntrusted, "the chain does not end in the App Attest root", .backend,
            "if you name roots (--trust-root, trustSimulator), name the one that made the object; if you write x5c anew, leave its order; otherwise do not trust the key: a simulator or somebody else made it, not Apple. What makes another verifier refuse genuine chains is in docs/verify-app-attest.md"
        ),
        .init(
            .attestChainExpired, "a certificate has expired", .app,
            "make a new key and attest it; to verify an old object, set --at to a time at which it was valid"),
        .init(.attestChainNotYetValid, "a certificate is not valid yet", .operator, clock),
        .init(.attestChainSignature, "a signature in the chain does not verify", .backend, forged),
        .init(.attestNonceMissing, "the leaf has no well-formed nonce", .backend, forged),
        .init(
            .attestNonceMismatch, "the nonce does not match", .developer,
            "compare the two client data hashes: app and server must hash the same bytes once. If they are the same, something changed the object: send what attestKey returned. An attestation belongs to the one challenge that it was made with: verify it once, keep the key, and ask for assertions afterwards. If all clients fail, suspect your last release"
        ),
        .init(
            .attestKeyIdMismatch, "the key id is not the hash of the leaf's key", .developer,
            "send the key id that generateKey returned for this attestation; a server that computes it hashes the 65 bytes of the point (X9.63), not SPKI"
        ),
        .init(
            .attestAppIdMismatch, "the object is for another app", .operator,
            "compare prefix and bundle id with application-identifier in the entitlements of the build; the prefix may not be the team id, and an App Clip attests as its full app"
        ),
        .init(.attestCounterNotZero, "the counter is not zero", .backend, forged),
        .init(
            .attestEnvironmentMismatch, "the object belongs to the other environment", .developer,
            "allow the environment of the build: builds from TestFlight, the App Store and enterprise distribution are always production, whatever the entitlement appattest-environment says; builds from Xcode are development unless it says production (on macOS 27 they are production too)"
        ),
        .init(
            .attestEnvironmentUnknown, "the aaguid is not known", .backend,
            "do not trust the key; Apple documents only development and production"),
        .init(.attestCredentialIdMismatch, "the credential id is not the key id", .backend, forged),
        .init(
            .attestPublicKeyMismatch, "the COSE key is not the certificate's", .backend,
            forged
                + ". A verifier of your own that says so of one key in 128 must fill x and y of the COSE key up to 32 bytes"
        ),
        .init(
            .attestExtensionsUnknownShape, "the bytes after the key are not one map of the known form", .backend, newer),
        .init(
            .attestPolicyValidationCategory, "the validation category is not allowed", .operator, category),
        .init(.attestPolicyBundleVersion, "the bundle version is not allowed", .operator, version),
        .init(
            .attestPolicyAccessControl, "the macOS access control is absent or different", .developer,
            "create the key with the access control that the policy requires; only Macs can have it (--require-mac-access-control)"
        ),
    ]

    /// Refused assertions.
    package static let assertions: [CodeExplanation] = [
        .init(
            .assertSignatureInvalid, "the signature does not verify", .developer,
            "sign exactly the bytes that you send, and verify them as they arrived, with the key that was attested under this key id: after a reinstallation it is another key. ES256 hashes the nonce once more before it signs"
        ),
        .init(
            .assertAppIdMismatch, "the assertion is for another app", .operator,
            "compare prefix and bundle id with application-identifier in the entitlements of the build; an App Clip asserts as its full app"
        ),
        .init(
            .assertCounterReplayed, "the counter is not greater than the stored one", .app,
            "generate assertions one after the other, each for a new challenge, and compare with the last counter that was accepted for this key; the same bytes are never accepted twice"
        ),
        .init(
            .assertExtensionsUnknownShape, "the bytes after the counter are not one map of the known form", .backend,
            newer),
        .init(
            .assertPolicyValidationCategory, "the validation category is not allowed", .operator, category),
        .init(.assertPolicyBundleVersion, "the bundle version is not allowed", .operator, version),
    ]

    /// Refused receipts.
    package static let receipts: [CodeExplanation] = [
        .init(.receiptSignatureInvalid, "the CMS signature does not verify", .backend, unchanged),
        .init(.receiptChainUntrusted, "the signer's chain does not end in Apple Root CA - G3", .backend, unchanged),
        .init(.receiptChainMarkerMissing, "a marker extension is missing in the chain", .backend, unchanged),
        .init(
            .receiptAppIdMismatch, "the receipt is for another app", .backend,
            "verify it with the app that it was made for; if it came with a key of this app, refuse the key"),
        .init(
            .receiptPublicKeyMismatch, "the receipt is for another key", .backend,
            "verify it with the key that it was stored for; if it came with this key, refuse the key"),
        .init(
            .receiptExpired, "the receipt has expired", .operator,
            "let the service refresh receipts (receipts.refresh), or use the newer one that it stored"),
        .init(
            .receiptTooOld, "the receipt is older than allowed", .app,
            "send the attestation as soon as it is made; to verify a stored receipt, raise --max-age"),
        .init(.receiptFromTheFuture, "the receipt was created in the future", .operator, clock),
        .init(.receiptFieldMissing, "a field is missing", .backend, unchanged),
        .init(.receiptFieldDuplicate, "a field occurs twice", .backend, unchanged),
        .init(.receiptFieldInvalid, "a field has an invalid value", .backend, unchanged),
        .init(
            .receiptTypeMismatch, "ATTEST where RECEIPT is expected, or the other way round", .backend,
            "an attestation carries ATTEST, a refresh returns RECEIPT: use the one that is expected"),
        .init(
            .receiptEnvironmentMismatch, "the receipt belongs to the other environment", .backend,
            "use the receipt where its key is used: sandbox with development, production with production"),
    ]

    private static let clock = "correct the clock of the verifying machine, or the time of --at"
    private static let send = "send the bytes that attestKey returned, unchanged"
    private static let forged =
        "do not trust the key: no device makes such an object. If all objects are refused so, something changes their bytes on the way: send what attestKey returned, in base64"
    private static let newer =
        "update Sealward if a new system sends it, and report the object; until then the key is not trusted"
    private static let unchanged =
        "store and send receipts as they came, byte for byte, and verify them under Apple Root CA - G3 (--trust-root replaces it). Receipts of iOS 14.0 are signed in another form and are refused although Apple made them; any other that is still refused was changed, or somebody else made it"
    private static let version =
        "to accept this version, add it to allowedBundleVersions (--bundle-version). \(absent)"
    private static let category =
        "to accept such builds, add the category to allowedValidationCategories (--validation-category): 1 system, 2 TestFlight, 3 development, 4 App Store, 5 enterprise or ad hoc, 6 Developer ID, 10 other. \(absent)"
    private static let absent =
        "Systems before iOS 27 name none, and requireExtensions (--require-extensions) refuses them"
}
