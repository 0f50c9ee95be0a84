// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import Findings
import Foundation
import TrustStores

/// Judges what apps present and commits it: every interface of the service gives its proofs here, however they came.
struct ProofIntake: Sendable {
    let store: any TrustStore
    let challenges: ChallengeBook
    let trusted: TrustedKeys
    let risk: RiskWatch
    let receiptPlan: ReceiptPlan
    let signals: SignalBook
    let observer: RequestObserver

    /// Judges one assertion: challenge, then key, then signature. Everything that can fail is done here, before the commit.
    ///
    /// - Throws: ``ProofRefusal`` and `MalformedInput` for what is refused, ``Problem`` and `StoreFault` for what cannot be judged.
    func judge(_ presented: PresentedAssertion, _ app: ServedApp, _ call: Call) async throws -> JudgedAssertion {
        let object = try AssertionObject(decoding: presented.assertion)
        let signed = try SignedInput.assertion(challenge: presented.challenge, clientData: presented.clientData)
        let purpose = presented.terms.purpose ?? .assert
        var binding = ChallengeBinding(purpose: purpose, app: app.settings.id, keyId: presented.keyId)
        // What nobody issued, or what has expired, is refused before the store is asked.
        let first = challenges.current.read(signed.challenge, for: binding, at: call.now)
        if first != .refused(.binding) { _ = try first.spendable.get() }
        guard let stored = try await store.key(presented.keyId), stored.app.hasSameBytes(as: app.settings.id) else {
            _ = try first.spendable.get()
            throw ProofRefusal(.keyUnknown)
        }
        let key = try await trusted.trusted(stored).get()
        // A challenge that was made for a user serves the keys of that user alone.
        let spendable: SpendableChallenge
        if let user = key.user {
            binding.user = user
            spendable = try challenges.current.read(signed.challenge, for: binding, at: call.now).spendable.get()
        } else {
            spendable = try first.spendable.get()
        }
        guard presented.terms.acceptsSimulated || !key.simulated else {
            throw ProofRefusal(.keyUnknown, evidence: "a simulated device's key, which this interface refuses")
        }
        if key.revokedAt != nil { throw ProofRefusal(.keyRevoked) }
        let mode = app.settings.counterMode
        let assertion = try app.verifiers.assert(
            object,
            by: key,
            hash: signed.hash,
            above: mode == .strict ? key.counter : 0
        ).get()
        let advance = CounterAdvance(
            keyId: key.id,
            counter: assertion.counter,
            mode: mode,
            challenge: spendable
        )
        return JudgedAssertion(key: key, advance: advance, tier: try await risk.tier(of: key, at: call.now))
    }

    /// Commits a judged assertion, counter and challenge in one transaction. Nothing that can fail comes after it.
    func commit(_ judged: JudgedAssertion, _ call: Call) async throws {
        switch try await store.advance(judged.advance, at: call.now) {
        case .refused(let refusal): throw ProofRefusal(refusal.code)
        case .advanced(let previous):
            observer.count("assertions.accepted")
            observer.accepted(.assertion, by: judged.key, at: call.now)
            if judged.advance.counter <= previous { observer.count("assertions.late") }
        }
    }
}

/// What an interface of its own asks of proofs, beside the settings of the app.
struct ProofTerms: Sendable {
    /// The purpose of its challenges; nil for that of the proof.
    var purpose: ChallengePurpose?
    /// How an attestation covers the challenge; nil for the way of the app.
    var binding: Configuration.Binding?
    /// Whether keys of simulated devices may be registered and used.
    var acceptsSimulated = true
}

/// An assertion as it came, in shape but not yet believed.
struct PresentedAssertion: Sendable {
    let keyId: KeyIdentifier
    let assertion: [UInt8]
    let clientData: [UInt8]
    let challenge: [UInt8]?
    var terms = ProofTerms()

    init(keyId: KeyIdentifier, assertion: [UInt8], clientData: [UInt8], challenge: [UInt8]?, terms: ProofTerms) {
        self.keyId = keyId
        self.assertion = assertion
        self.clientData = clientData
        self.challenge = challenge
        self.terms = terms
    }

    init(_ body: RequestBody) throws(Problem) {
        keyId = try body.keyId()
        assertion = try body.bytes("assertion")
        clientData = try body.bytes("clientData")
        challenge = try body.optionalBytes("challenge")
    }
}

/// An assertion that was found good; nothing is committed yet.
struct JudgedAssertion: Sendable {
    let key: StoredKey
    let advance: CounterAdvance
    let tier: String
}
