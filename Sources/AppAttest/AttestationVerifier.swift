// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Crypto
import Formats
public import FoundationEssentials
import Vocabulary

/// A device key that an attestation proved to be the real app's. Only ``AttestationVerifier`` can make one.
public struct AttestedKey: Sendable {
    /// The key that the device holds.
    public let publicKey: AttestationPublicKey
    /// SHA-256 of the key's point, 32 bytes.
    public let keyId: KeyIdentifier
    /// The app that the device named.
    public let app: AppIdentity
    /// Where the attestation was made.
    public let environment: AttestationEnvironment
    /// The receipt that came with the key, as the device sent it.
    public let receipt: [UInt8]
    /// The receipt's own verdict; nil if the verifier was told not to judge it. A bad receipt does not make the key bad.
    public let receiptVerdict: ReceiptVerdict?
    /// What the device said about the app; nil before iOS 27.
    public let extensions: AttestationExtensions?
    /// What the leaf certificate says beside the key.
    public let leaf: LeafFacts
    /// The instant at which it was verified.
    public let verifiedAt: Date
}

/// The verdict on an attestation.
public enum AttestationVerdict: Sendable {
    /// Every step passed.
    case accepted(AttestedKey)
    /// The first step that failed.
    case refused(Refusal)
}

/// Verifies attestations of one app or several, made in one environment or in either.
///
///     let verifier = AttestationVerifier(apps: [app], environments: [.production], roots: .apple, receiptRoots: .apple)
///     switch await verifier.verify(bytes, keyId: keyId, clientDataHash: .init(hashing: challenge), at: now) {
///     case .accepted(let key): try await keys.insert(key)
///     case .refused(let why): metrics.count(why.code)
///     }
///
/// Keep one verifier: it remembers the intermediates that it verified. Copies share that memory.
public struct AttestationVerifier: Sendable {
    private let apps: [[UInt8]: AppIdentity]
    private let environments: Set<AttestationEnvironment>
    private let policy: AttestationPolicy
    let chain: ChainVerifier
    private let receipts: ReceiptVerifier?

    /// - Parameters:
    ///   - apps: the apps whose keys are accepted; an attestation says by its hash which one it is for.
    ///   - environments: the environments that are accepted; an attestation says by its AAGUID which one it was made in. An empty set
    ///     refuses every attestation.
    ///   - receiptRoots: the roots for the receipt inside an attestation; nil leaves receipts unjudged.
    ///   - rememberedIntermediates: how many verified intermediates are kept.
    public init(
        apps: [AppIdentity], environments: Set<AttestationEnvironment>, roots: AttestationRoots,
        receiptRoots: ReceiptRoots?, policy: AttestationPolicy = AttestationPolicy(), rememberedIntermediates: Int = 16
    ) {
        self.apps = Dictionary(apps.map { ($0.relyingPartyIdHash, $0) }, uniquingKeysWith: { first, _ in first })
        self.environments = environments
        self.policy = policy
        chain = ChainVerifier(anchors: roots.anchors, rememberedLimit: rememberedIntermediates)
        receipts = receiptRoots.map { ReceiptVerifier(roots: $0, rememberedAuthorities: rememberedIntermediates) }
    }

    /// The apps whose keys are accepted.
    var acceptedApps: [AppIdentity] { Array(apps.values) }

    /// Reads and judges an attestation. Bytes that are not an attestation are refused with a `malformed.` code.
    ///
    /// - Parameters:
    ///   - keyId: the identifier that the app sent along.
    ///   - clientDataHash: what the app passed to `attestKey`, rebuilt from your own challenge.
    ///   - instant: the time to verify at.
    public func verify(
        _ attestation: some Collection<UInt8>, keyId: KeyIdentifier, clientDataHash: ClientDataHash, at instant: Date
    ) async -> AttestationVerdict {
        do {
            let object = try AttestationObject(decoding: attestation)
            return await verify(object, keyId: keyId, clientDataHash: clientDataHash, at: instant)
        } catch {
            return .refused(Refusal(malformed: error))
        }
    }

    /// Judges an attestation that was read before.
    package func verify(
        _ object: AttestationObject, keyId: KeyIdentifier, clientDataHash: ClientDataHash, at instant: Date
    ) async -> AttestationVerdict {
        do {
            return .accepted(try await judge(object, keyId, clientDataHash, instant))
        } catch {
            return .refused(error)
        }
    }

    /// Apple's steps in Apple's order ("Validating apps that connect to your server", the attestation list, read 2026-11-21:
    /// https://developer.apple.com/documentation/devicecheck/validating-apps-that-connect-to-your-server), then ours from 10 on.
    private func judge(
        _ object: AttestationObject, _ keyId: KeyIdentifier, _ clientDataHash: ClientDataHash, _ instant: Date
    ) async throws(Refusal) -> AttestedKey {
        let data = object.authenticatorData
        guard let credential = data.credential else {
            throw Refusal(.malformedAuthenticatorData, "the authenticator data has no credential")
        }

        // Step 1: the certificates lead to the App Attest root and are valid. Exactly two: leaf and intermediate.
        let leaf = try await trustedLeaf(object.certificates, at: instant)

        // Steps 2 and 3: the nonce is the hash of the authenticator data and the client data hash.
        var hasher = SHA256()
        hasher.update(data: data.bytes)
        hasher.update(data: clientDataHash.bytes)
        let nonce = hasher.finalize()

        // Step 4: the leaf holds that nonce.
        guard let certified = leaf.value(of: OID.attestationNonce) else {
            throw Refusal(
                .attestNonceMissing, step: 4, "the leaf has no nonce",
                [ComparedValue("nonce", expected: Base64.encode(nonce), found: nil)])
        }
        // SEQUENCE { [1] { OCTET STRING of 32 bytes } }, in its only DER encoding.
        guard certified.count == 38, certified.starts(with: [0x30, 0x24, 0xA1, 0x22, 0x04, 0x20]) else {
            throw Refusal(.malformedCertificate, step: 4, "the leaf's nonce extension has an unknown form")
        }
        guard certified.dropFirst(6).elementsEqual(nonce) else {
            throw Refusal(
                .attestNonceMismatch, step: 4, "the leaf's nonce is for another challenge or other authenticator data",
                [ComparedValue("nonce", expected: nonce, found: certified.dropFirst(6))])
        }

        // Step 5: the key identifier is the hash of the leaf's public key.
        let publicKey = try leafKey(leaf)
        guard publicKey.keyId == keyId else {
            throw Refusal(
                .attestKeyIdMismatch, step: 5, "the key identifier does not match the certified key",
                [ComparedValue("keyId", expected: keyId.bytes, found: publicKey.keyId.bytes)])
        }

        // Step 6: the app.
        guard let app = apps[Array(data.relyingPartyIdHash)] else {
            let accepted = acceptedApps.map(\.applicationId).sorted().prefix(8)
            throw Refusal(
                .attestAppIdMismatch, step: 6, "the attestation is for another app",
                [
                    ComparedValue("appId", expected: accepted.joined(separator: " or "), found: nil),
                    ComparedValue(
                        "appIdHash", expected: apps.count == 1 ? apps.keys.first.map(Base64.encode) : nil,
                        found: Base64.encode(data.relyingPartyIdHash)),
                ])
        }

        // Step 7: a new key was never used.
        guard data.counter == 0 else {
            throw Refusal(
                .attestCounterNotZero, step: 7, "the counter is \(data.counter), not 0",
                [ComparedValue("counter", expected: "0", found: String(data.counter))])
        }

        // Step 8: the environment.
        let environment = try acceptedEnvironment(credential.aaguid)

        // Step 9: the credential is the key.
        guard credential.credentialId.elementsEqual(keyId.bytes) else {
            throw Refusal(
                .attestCredentialIdMismatch, step: 9, "the credential identifier is not the key identifier",
                [ComparedValue("credentialId", expected: keyId.bytes, found: credential.credentialId)])
        }

        // Step 10 (ours): the COSE key and the certified key are the same, so that no two readers see two keys.
        guard credential.publicKey == publicKey.x963Representation else {
            throw Refusal(
                .attestPublicKeyMismatch, step: 10, "the COSE key is not the certified key",
                [ComparedValue("publicKey", expected: publicKey.x963Representation, found: credential.publicKey)])
        }

        // Step 11 (ours): the extensions of iOS 27 are understood.
        let (extensions, unknownShape) = data.claimedExtensions
        if let unknownShape {
            throw Refusal(.attestExtensionsUnknownShape, step: 11, "the extensions are not understood: \(unknownShape)")
        }

        // Step 12 (ours): what the operator asks for.
        let facts = LeafFacts(leaf)
        try checkPolicy(extensions, facts)

        let receiptVerdict = await receipts?.verify(
            object.receipt,
            ReceiptExpectations(
                app: app, publicKey: publicKey, environment: environment, type: .attest, clientDataHash: clientDataHash),
            at: instant)
        return AttestedKey(
            publicKey: publicKey, keyId: keyId, app: app, environment: environment, receipt: Array(object.receipt),
            receiptVerdict: receiptVerdict, extensions: extensions, leaf: facts, verifiedAt: instant)
    }

    private func trustedLeaf(
        _ certificates: [ArraySlice<UInt8>], at instant: Date
    ) async throws(Refusal) -> CertificateRecord {
        guard certificates.count == 2, let first = certificates.first, let second = certificates.last else {
            let count = certificates.count
            throw Refusal(
                .attestChainCount, step: 1, "the chain has \(count) certificates, not a leaf and an intermediate",
                [ComparedValue("certificates", expected: "2", found: String(count))])
        }
        let leaf: CertificateRecord
        do { leaf = try CertificateRecord(der: first) } catch {
            throw Refusal(.malformedCertificate, step: 1, "the leaf: \(error.reason)")
        }
        do {
            let authority = try await chain.authority(second, at: instant)
            try chain.checkLeaf(leaf, below: authority, at: instant)
        } catch {
            switch error {
            case .malformed(let reason): throw Refusal(.malformedCertificate, step: 1, reason)
            case .untrusted(let reason):
                let isReversed = leaf.isAuthority && (try? CertificateRecord(der: second))?.isAuthority == false
                throw Refusal(
                    .attestChainUntrusted, step: 1,
                    isReversed ? "`x5c` begins with the intermediate: the leaf comes first" : reason,
                    chain.comparedIssuer(of: second))
            case .signature(let reason): throw Refusal(.attestChainSignature, step: 1, reason)
            case .expired(let reason, let end):
                throw Refusal(.attestChainExpired, step: 1, reason, [.time(instant, "until", end)])
            case .notYetValid(let reason, let start):
                throw Refusal(.attestChainNotYetValid, step: 1, reason, [.time(instant, "from", start)])
            }
        }
        return leaf
    }

    private func leafKey(_ leaf: CertificateRecord) throws(Refusal) -> AttestationPublicKey {
        guard let curve = leaf.keyCurve, curve.elementsEqual(OID.p256),
            let key = try? AttestationPublicKey(x963Representation: leaf.keyBits)
        else {
            throw Refusal(.malformedCertificate, step: 5, "the leaf's key is not an uncompressed point on P-256")
        }
        return key
    }

    private func acceptedEnvironment(_ bytes: ArraySlice<UInt8>) throws(Refusal) -> AttestationEnvironment {
        guard let named = AttestationAAGUID(bytes) else {
            let identifiers = AttestationAAGUID.allCases.filter {
                $0 != .sandbox && environments.contains($0.environment)
            }
            .map { $0.bytes.hexadecimal() }
            throw Refusal(
                .attestEnvironmentUnknown, step: 8, "the key belongs to an unknown environment",
                [ComparedValue("aaguid", expected: identifiers.joined(separator: " or "), found: bytes.hexadecimal())])
        }
        guard environments.contains(named.environment), named != .sandbox || policy.acceptsSandboxIdentifier else {
            let accepted = environments.map(\.rawValue).sorted().joined(separator: " or ")
            let reason =
                named == .sandbox
                ? "the key says `appattestsandbox`, which is not accepted as \(accepted)"
                : "the key belongs to the other environment, not to \(accepted)"
            let found = named == .sandbox ? "appattestsandbox" : named.environment.rawValue
            throw Refusal(
                .attestEnvironmentMismatch, step: 8, reason,
                [ComparedValue("environment", expected: accepted, found: found)])
        }
        return named.environment
    }

    private func checkPolicy(_ extensions: AttestationExtensions?, _ leaf: LeafFacts) throws(Refusal) {
        if let required = policy.validationCategories, !required.accepts(extensions?.validationCategory) {
            let compared = ComparedValue.category(required, extensions?.validationCategory)
            throw Refusal(
                .attestPolicyValidationCategory, step: 12,
                "the validation category is \(compared.found ?? "absent")", [compared])
        }
        if let required = policy.bundleVersions, !required.accepts(extensions?.bundleVersion) {
            let found = extensions?.bundleVersion == nil ? "absent" : "not an accepted one"
            throw Refusal(
                .attestPolicyBundleVersion, step: 12, "the bundle version is \(found)",
                [.version(required, extensions?.bundleVersion)])
        }
        if let required = policy.requiredAccessControl, leaf.accessControl != required {
            let found = leaf.accessControl == nil ? "absent" : "not the required one"
            throw Refusal(
                .attestPolicyAccessControl, step: 12, "the key's access control is \(found)",
                [
                    ComparedValue(
                        "accessControl", expected: Base64.encode(required),
                        found: leaf.accessControl.map(Base64.encode))
                ])
        }
    }
}
