// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Crypto
import Formats
import FoundationEssentials
import Vocabulary

/// An assertion that was made by the key, for the app, later than the last one.
public struct VerifiedAssertion: Sendable {
    /// The counter to be committed by the store: it was greater than the previous one when this was judged, and the store must
    /// compare again when it writes, because two requests may be judged at the same time.
    public let counter: UInt32
    /// What the device said about the app; nil before iOS 27.
    public let extensions: AttestationExtensions?
}

/// The verdict on an assertion.
public enum AssertionVerdict: Sendable {
    /// Every step passed; the counter is for a store to commit.
    case accepted(VerifiedAssertion)
    /// The first step that failed.
    case refused(Refusal)
}

/// Verifies assertions of one app's keys. The environment is that of the stored key: an assertion carries none.
///
///     let verifier = AssertionVerifier(app: app)
///     let verdict = verifier.verify(bytes, publicKey: stored.publicKey, clientDataHash: .init(hashing: body), previousCounter: stored.counter)
public struct AssertionVerifier: Sendable {
    let app: AppIdentity
    private let policy: AttestationPolicy

    /// - Parameter policy: only its categories and versions apply to assertions.
    public init(app: AppIdentity, policy: AttestationPolicy = AttestationPolicy()) {
        self.app = app
        self.policy = policy
    }

    /// Reads and judges an assertion. Bytes that are not an assertion are refused with a `malformed.` code.
    ///
    /// - Parameters:
    ///   - publicKey: the key that was attested.
    ///   - clientDataHash: what the app passed to `generateAssertion`, rebuilt from the bytes of the request as they arrived.
    ///   - previousCounter: the counter that is stored for the key, 0 before the first assertion.
    public func verify(
        _ assertion: some Collection<UInt8>, publicKey: AttestationPublicKey, clientDataHash: ClientDataHash,
        previousCounter: UInt32
    ) -> AssertionVerdict {
        do {
            let object = try AssertionObject(decoding: assertion)
            return verify(
                object, publicKey: publicKey, clientDataHash: clientDataHash, previousCounter: previousCounter)
        } catch {
            return .refused(Refusal(malformed: error))
        }
    }

    /// Judges an assertion that was read before.
    package func verify(
        _ object: AssertionObject, publicKey: AttestationPublicKey, clientDataHash: ClientDataHash,
        previousCounter: UInt32
    ) -> AssertionVerdict {
        do throws(Refusal) {
            return .accepted(try judge(object, publicKey, clientDataHash, previousCounter))
        } catch {
            return .refused(error)
        }
    }

    /// Apple's steps ("Validating apps that connect to your server", the assertion list, read 2026-11-21). The challenge inside the
    /// client data, Apple's step 6, belongs to whoever issued it.
    private func judge(
        _ object: AssertionObject, _ publicKey: AttestationPublicKey, _ clientDataHash: ClientDataHash,
        _ previousCounter: UInt32
    ) throws(Refusal) -> VerifiedAssertion {
        let data = object.authenticatorData

        // Steps 1 and 2: the nonce is the hash of the authenticator data and the client data hash.
        var hasher = SHA256()
        hasher.update(data: data.bytes)
        hasher.update(data: clientDataHash.bytes)
        let nonce = hasher.finalize()

        // Step 3: the key signed the nonce, which ECDSA hashes once more. Before the counter is looked at, so that nobody without the
        // key learns anything about it.
        var signed = SHA256()
        signed.update(data: Array(nonce))
        guard let raw = SignatureNumbers.raw(of: object.signature, width: 32),
            let signature = try? P256.Signing.ECDSASignature(rawRepresentation: raw),
            publicKey.key.isValidSignature(signature, for: signed.finalize())
        else {
            throw Refusal(
                .assertSignatureInvalid, step: 3, "the key did not sign this client data",
                [ComparedValue("clientDataHash", expected: Base64.encode(clientDataHash.bytes), found: nil)])
        }

        // Step 4: the app.
        guard data.relyingPartyIdHash.elementsEqual(app.relyingPartyIdHash) else {
            throw Refusal(
                .assertAppIdMismatch, step: 4, "the assertion is for another app",
                [
                    ComparedValue("appId", expected: app.applicationId, found: nil),
                    ComparedValue("appIdHash", expected: app.relyingPartyIdHash, found: data.relyingPartyIdHash),
                ])
        }

        // Step 5: the counter grew.
        guard data.counter > previousCounter else {
            throw Refusal(
                .assertCounterReplayed, step: 5,
                "the counter is \(data.counter) and must be greater than \(previousCounter)",
                [ComparedValue("counter", expected: "more than \(previousCounter)", found: String(data.counter))])
        }

        // Step 7 (ours): the extensions of iOS 27 are understood, and are those that the operator asks for.
        let (extensions, unknownShape) = data.claimedExtensions
        if let unknownShape {
            throw Refusal(.assertExtensionsUnknownShape, step: 7, "the extensions are not understood: \(unknownShape)")
        }
        if let required = policy.validationCategories, !required.accepts(extensions?.validationCategory) {
            throw Refusal(
                .assertPolicyValidationCategory, step: 8, "the validation category is not accepted",
                [.category(required, extensions?.validationCategory)])
        }
        if let required = policy.bundleVersions, !required.accepts(extensions?.bundleVersion) {
            throw Refusal(
                .assertPolicyBundleVersion, step: 8, "the bundle version is not accepted",
                [.version(required, extensions?.bundleVersion)])
        }
        return VerifiedAssertion(counter: data.counter, extensions: extensions)
    }
}
