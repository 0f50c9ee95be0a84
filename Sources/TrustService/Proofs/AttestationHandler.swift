// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import Bounds
import Findings
import Foundation
import TrustStores

extension ServiceCore {
    /// `POST /v1/apps/{app}/attestations`, in the fixed order: shape, challenge, signatures, store.
    func attest(_ call: Call) async throws -> Answer {
        let app = try app(call)
        let body = try RequestBody(call.body)
        let keyId = try ServiceCore.keyId(body)
        let attestation = try body.bytes("attestation")
        let challenge = try body.bytes("challenge")
        let clientData = try body.optionalBytes("clientData")
        let user = try ServiceCore.user(body)
        if app.settings.mode == .off { return .json(ServiceCore.unjudged) }
        return try await judged(app, call, keyId: keyId) {
            let digest = KeyRegistration.digest(of: attestation)
            if let known = try await repeated(try await store.key(keyId), app, user, digest) {
                return .json(ServiceCore.document(known))
            }
            let object = try AttestationObject(decoding: attestation)
            let signed = try SignedInput.attestation(
                binding: app.settings.binding,
                challenge: challenge,
                clientData: clientData
            )
            let binding = ChallengeBinding(purpose: .attest, app: app.settings.id, keyId: keyId, user: user)
            let spendable = try codec.read(signed.challenge, for: binding, at: call.now).spendable
                .mapError(\.needingNewKey).get()
            let standing = try await store.attestationStanding(of: keyId, challenge: spendable)
            if let known = try await repeated(standing.key, app, user, digest) {
                return .json(ServiceCore.document(known))
            }
            if standing.isSpent {
                throw ProofRefusal("challenge.used").needingNewKey
            }
            let proven = try await app.verifiers.attest(object, keyId: keyId, hash: signed.hash, at: call.now)
                .get()
            guard
                let registration = KeyRegistration(
                    proven.key,
                    app: app.settings.id,
                    simulated: proven.simulated,
                    user: user,
                    attestation: attestation,
                    refreshAt: refreshTime(after: nil, key: keyId.bytes, at: call.now)
                )
            else { throw Problem("internal.error", evidence: "the key cannot be registered") }
            switch try await store.insert(registration, spending: spendable, at: call.now) {
            case .inserted(let key):
                if key.simulated { vouchers.keep(true, for: key.id) }
                observer.count("attestations.accepted")
                await signals.count(app.settings.id, kind: "attested", at: call.now)
                await signals.countOnce(app.settings.id, kind: "attestedAddress", address: call.address, at: call.now)
                return .json(ServiceCore.document(key), status: 201)
            case .existing(let key): return .json(ServiceCore.document(try await trusted(key).get()))
            case .refused(let refusal): throw ProofRefusal(Code(rawValue: refusal.rawValue)).needingNewKey
            }
        }
    }

    /// The key that this very object of this user has registered before.
    private func repeated(_ key: StoredKey?, _ app: App, _ user: String?, _ digest: [UInt8]) async throws -> StoredKey?
    {
        guard let key, key.app.hasSameBytes(as: app.settings.id),
            key.attestationDigest == digest, key.user.map({ UTF8Key($0) }) == user.map({ UTF8Key($0) })
        else { return nil }
        return try await trusted(key).get()
    }

    private static func document(_ key: StoredKey) -> JSONValue {
        [
            "keyId": .string(key.id.base64), "environment": .string(key.environment),
            "validationCategory": .optional(key.validationCategory), "bundleVersion": .optional(key.bundleVersion),
        ]
    }

    /// When a receipt is asked for next: never before field 19, and spread by key so that a burst does not come back as one.
    func refreshTime(after earliest: Date?, key: [UInt8], at now: Date) -> Date? {
        guard configuration.receipts.refresh else { return nil }
        let wait = configuration.receipts.refreshAfter.inSeconds
        let share = key.prefix(4).reduce(0.0) { $0 * 256 + Double($1) } / 4_294_967_296
        let next = now.addingTimeInterval(wait * (1 + share / 10))
        return max(next, earliest ?? next)
    }
}
