// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import FoundationEssentials
import HTTPService
import TrustStores
import Vocabulary

/// An attestation as it came, in shape but not yet believed.
struct PresentedAttestation: Sendable {
    let keyId: KeyIdentifier
    let attestation: [UInt8]
    let challenge: [UInt8]
    var clientData: [UInt8]?
    var user: String?
    var terms = ProofTerms()
}

/// A key that is registered.
struct RegisteredKey: Sendable {
    let key: StoredKey
    /// Whether it was not before.
    let isNew: Bool
}

extension ProofIntake {
    /// Judges an attestation and registers its key, in the fixed order: challenge, signatures, store. The very object that registered a key
    /// before gives that key again.
    ///
    /// - Throws: ``ProofRefusal`` and `MalformedInput` for what is refused, ``Problem`` and `StoreFault` for what cannot be judged.
    func register(_ presented: PresentedAttestation, _ app: ServedApp, _ call: Call) async throws -> RegisteredKey {
        let digest = KeyRegistration.digest(of: presented.attestation)
        if let known = try await repeated(try await store.key(presented.keyId), app, presented.user, digest) {
            return RegisteredKey(key: known, isNew: false)
        }
        let object = try AttestationObject(decoding: presented.attestation)
        let signed = try SignedInput.attestation(
            binding: presented.terms.binding ?? app.settings.binding, challenge: presented.challenge,
            clientData: presented.clientData)
        let binding = ChallengeBinding(
            purpose: presented.terms.purpose ?? .attest, app: app.settings.id, keyId: presented.keyId,
            user: presented.user)
        let spendable = try challenges.current.read(signed.challenge, for: binding, at: call.now).spendable
            .mapError(\.needingNewKey).get()
        let standing = try await store.attestationStanding(of: presented.keyId, challenge: spendable)
        if let known = try await repeated(standing.key, app, presented.user, digest) {
            return RegisteredKey(key: known, isNew: false)
        }
        if standing.isSpent {
            throw ProofRefusal(.challengeUsed).needingNewKey
        }
        let proven: AppVerifiers.Proven
        switch try await app.verifiers.attest(object, keyId: presented.keyId, hash: signed.hash, at: call.now) {
        case .success(let key): proven = key
        case .failure(let refusal):
            throw await explainer.explained(refusal, loggingHash: signed.hashed != nil) {
                let result = app.verifiers.explained($0, of: presented.attestation, signed)
                // Where the challenge stands in the place of the hash, the object names the one that it was made with.
                guard signed.hashed == nil, result.code == .attestNonceMismatch, result.mistake == nil,
                    let named = result.namedClientDataHash,
                    challenges.current.read(named, for: binding, at: call.now) != .refused(.unknown)
                else { return result }
                return result.ofOtherChallenge
            }
        }
        guard presented.terms.acceptsSimulated || !proven.simulated else {
            throw ProofRefusal(.attestChainUntrusted, evidence: "a simulated device, which this interface refuses")
        }
        guard
            var registration = KeyRegistration(
                proven.key, app: app.settings.id, simulatedRoots: proven.simulatedRoots, user: presented.user,
                attestation: presented.attestation,
                refreshAt: receiptPlan.next(after: nil, key: presented.keyId.bytes, at: call.now))
        else { throw Problem(.internalError, evidence: "the key cannot be registered") }
        registration.draws = newKeys.draws(
            app: app.settings.id, user: presented.user, environment: proven.key.environment,
            isSimulated: proven.simulated, address: call.address)
        switch try await store.insert(registration, spending: spendable, at: call.now) {
        case .inserted(let key):
            if key.simulated { app.vouchers.keep(true, for: key.id) }
            observer.count(.attestationsAccepted)
            await signals.count(app.settings.id, kind: EventKind.attested, at: call.now)
            await signals.countOnce(
                app.settings.id, kind: EventKind.attestedAddress, address: call.address, at: call.now)
            return RegisteredKey(key: key, isNew: true)
        case .existing(let key): return RegisteredKey(key: try await trusted.trusted(key).get(), isNew: false)
        case .refused(let refusal): throw ProofRefusal(refusal.code).needingNewKey
        case .exhausted(let until):
            throw Problem(
                .limitKeys, retryAfterSeconds: Problem.seconds(until: until, from: call.now),
                evidence: "limits.newKeysPerUser or limits.newKeysPerAddress")
        }
    }

    /// The key that this very object of this user has registered before.
    private func repeated(
        _ key: StoredKey?, _ app: ServedApp, _ user: String?, _ digest: [UInt8]
    ) async throws -> StoredKey? {
        guard let key, key.app.hasSameBytes(as: app.settings.id),
            key.record.isAttested(by: digest), key.user.map({ UTF8Key($0) }) == user.map({ UTF8Key($0) })
        else { return nil }
        return try await trusted.trusted(key).get()
    }
}
