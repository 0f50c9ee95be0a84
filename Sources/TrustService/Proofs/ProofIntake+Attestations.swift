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

/// A key that is registered, and whether it was not before.
typealias RegisteredKey = (key: StoredKey, isNew: Bool)

extension ProofIntake {
    /// Judges an attestation and registers its key, in the fixed order: challenge, signatures, store. The very object that registered a key
    /// before gives that key again.
    ///
    /// - Throws: ``Problem`` and `StoreFault` for what cannot be judged.
    func register(
        _ presented: PresentedAttestation, _ app: ServedApp, _ call: Call
    ) async throws -> Judged<RegisteredKey> {
        let digest = KeyRegistration.digest(of: presented.attestation)
        if let known = try await repeated(try await store.key(presented.keyId), presented, app, digest) { return known }
        return try await AttestationReading.read(presented, app, challenges.current, at: call.now).then { reading in
            let standing = try await store.attestationStanding(of: presented.keyId, challenge: reading.challenge)
            if let known = try await repeated(standing.key, presented, app, digest) { return known }
            if standing.isSpent { return .failure(ProofRefusal(.challengeUsed).needingNewKey) }
            return try await prove(reading, app, call).then { try await insert($0, reading, app, call) }
        }
    }

    /// The key that this very object of this user has registered before; nil if it has not.
    private func repeated(
        _ key: StoredKey?, _ presented: PresentedAttestation, _ app: ServedApp, _ digest: [UInt8]
    ) async throws -> Judged<RegisteredKey>? {
        guard let key, key.app.hasSameBytes(as: app.settings.id), key.record.isAttested(by: digest),
            StoreText.areSame(key.user, presented.user)
        else { return nil }
        return try await trusted.trusted(key).map { (key: $0, isNew: false) }
    }

    private func prove(
        _ reading: AttestationReading, _ app: ServedApp, _ call: Call
    ) async throws -> Judged<AppVerifiers.Proven> {
        let (presented, signed) = (reading.presented, reading.signed)
        switch try await app.verifiers.attest(
            reading.object, keyId: presented.keyId, hash: signed.hash, at: call.now)
        {
        case .success(let proven):
            guard presented.terms.acceptsSimulated || proven.simulatedRoots == nil else {
                return .failure(
                    ProofRefusal(.attestChainUntrusted, evidence: "a simulated device, which this interface refuses"))
            }
            return .success(proven)
        case .failure(let refusal):
            let explained = await explainer.explained(refusal, loggingHash: signed.hashed != nil) {
                let result = app.verifiers.explained($0, of: presented.attestation, signed)
                // Where the challenge stands in the place of the hash, the object names the one that it was made with.
                guard signed.hashed == nil, result.code == .attestNonceMismatch, result.mistake == nil,
                    let named = result.namedClientDataHash,
                    challenges.current.read(named, for: reading.binding, at: call.now) != .failure(.unknown)
                else { return result }
                return result.ofOtherChallenge
            }
            return .failure(explained)
        }
    }

    private func insert(
        _ proven: AppVerifiers.Proven, _ reading: AttestationReading, _ app: ServedApp, _ call: Call
    ) async throws -> Judged<RegisteredKey> {
        let (presented, id) = (reading.presented, app.settings.id)
        guard
            var registration = KeyRegistration(
                proven.key, app: id, simulatedRoots: proven.simulatedRoots, user: presented.user,
                attestation: presented.attestation,
                refreshAt: receiptPlan.next(after: nil, key: presented.keyId.bytes, at: call.now))
        else { throw Problem(.internalError, evidence: "the key cannot be registered") }
        registration.draws = newKeys.draws(
            app: id, user: presented.user, environment: proven.key.environment,
            isSimulated: proven.simulatedRoots != nil,
            address: call.address)
        switch try await store.insert(registration, spending: reading.challenge, at: call.now) {
        case .inserted(let key):
            if key.simulated { app.vouchers.keep(true, for: key.id) }
            observer.count(.attestationsAccepted)
            await signals.count(id, kind: EventKind.attested, at: call.now)
            await signals.countOnce(id, kind: EventKind.attestedAddress, address: call.address, at: call.now)
            return .success((key, true))
        case .existing(let key): return try await trusted.trusted(key).map { (key: $0, isNew: false) }
        case .refused(let refusal): return .failure(ProofRefusal(refusal.code).needingNewKey)
        case .exhausted(let until):
            throw Problem(
                .limitKeys, retryAfterSeconds: Problem.seconds(until: until, from: call.now),
                evidence: "limits.newKeysPerUser or limits.newKeysPerAddress")
        }
    }
}

/// What an attestation itself says, and the challenge that it spends: all that is known before it is verified.
private struct AttestationReading {
    let presented: PresentedAttestation
    let object: AttestationObject
    let signed: SignedInput
    let binding: ChallengeBinding
    let challenge: SpendableChallenge

    static func read(
        _ presented: PresentedAttestation, _ app: ServedApp, _ challenges: ChallengeCodec, at now: Date
    ) async throws -> Judged<AttestationReading> {
        let binding = ChallengeBinding(
            purpose: presented.terms.purpose ?? .attest, app: app.settings.id, keyId: presented.keyId,
            user: presented.user)
        return try await Result { () throws(MalformedInput) in try AttestationObject(decoding: presented.attestation) }
            .mapError { ProofRefusal($0, in: .attestation) }.then { object in
                try SignedInput.attestation(
                    binding: presented.terms.binding ?? app.settings.binding, challenge: presented.challenge,
                    clientData: presented.clientData
                ).flatMap { signed in
                    challenges.read(signed.challenge, for: binding, at: now).spendable.mapError(\.needingNewKey).map {
                        AttestationReading(
                            presented: presented, object: object, signed: signed, binding: binding, challenge: $0)
                    }
                }
            }
    }
}
