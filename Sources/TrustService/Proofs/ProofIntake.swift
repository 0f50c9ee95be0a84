// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import FoundationEssentials
import HTTPService
import TrustStores
import Vocabulary

/// Judges what apps present and commits it: every interface of the service gives its proofs here, however they came.
struct ProofIntake: Sendable {
    let store: any TrustStore
    let challenges: ChallengeBook
    let trusted: TrustedKeys
    let risk: RiskWatch
    let receiptPlan: ReceiptPlan
    let signals: SignalBook
    let newKeys: NewKeyLimits
    let hosts: SignedHosts
    let explainer: RefusalExplainer
    let observer: RequestObserver

    /// Judges one assertion, lets the caller prepare its answer, and commits counter and challenge in one transaction. Everything that can
    /// fail is done before the commit, also in `prepare`.
    ///
    /// - Throws: ``Problem`` and `StoreFault` for what cannot be judged.
    func accept<Prepared>(
        _ presented: PresentedAssertion, _ app: ServedApp, _ call: Call,
        prepare: (JudgedAssertion) async throws -> Judged<Prepared>
    ) async throws -> Judged<Prepared> {
        try await AssertionReading.read(presented, app, challenges.current, at: call.now).then { reading in
            guard let stored = try await store.key(presented.keyId), stored.app.hasSameBytes(as: app.settings.id) else {
                return reading.first.spendable.flatMap { _ in .failure(ProofRefusal(.keyUnknown)) }
            }
            return try await judge(reading, of: stored, app, call).then { judged in
                if app.settings.requireHost, presented.terms.namesHost,
                    let refusal = hosts.refusal(of: presented.clientData)
                {
                    return .failure(refusal)
                }
                let prepared = try await prepare(judged)
                guard case .success = prepared else { return prepared }
                return try await commit(judged, call).map { .failure($0) } ?? prepared
            }
        }
    }

    /// Judges what was read of an assertion by a key: challenge, then key, then signature.
    private func judge(
        _ reading: AssertionReading, of stored: StoredKey, _ app: ServedApp, _ call: Call
    ) async throws -> Judged<JudgedAssertion> {
        try await trusted.trusted(stored).then { key in
            // A challenge that was made for a user serves the keys of that user alone.
            try await reading.challenge(for: key.user, challenges.current, at: call.now).then { challenge in
                guard reading.presented.terms.acceptsSimulated || !key.simulated else {
                    let evidence = "a simulated device's key, which this interface refuses"
                    return .failure(ProofRefusal(.keyUnknown, evidence: evidence))
                }
                if key.revokedAt != nil { return .failure(ProofRefusal(.keyRevoked)) }
                let mode = app.settings.counterMode
                switch try app.verifiers.assert(
                    reading.object, by: stored, hash: reading.signed.hash, above: mode == .strict ? key.counter : 0)
                {
                case .success(let assertion):
                    let advance = CounterAdvance(
                        keyId: key.id, counter: assertion.counter, mode: mode, challenge: challenge)
                    return .success(
                        JudgedAssertion(key: key, advance: advance, trust: try await risk.trust(in: key, at: call.now)))
                case .failure(let refusal):
                    return .failure(
                        await explainer.explained(refusal, loggingHash: true) {
                            await explained($0, reading, of: stored, app)
                        })
                }
            }
        }
    }

    /// A refusal with the usual mistake, or with the other key of the same user that signed.
    private func explained(
        _ refusal: Refusal, _ reading: AssertionReading, of stored: StoredKey, _ app: ServedApp
    ) async -> Refusal {
        let result = app.verifiers.explained(refusal, of: reading.presented.assertion, by: stored, reading.signed)
        guard result.code == .assertSignatureInvalid, result.mistake == nil, let user = stored.user,
            let page = try? await store.keys(
                matching: KeyFilter(app: stored.app, user: user), after: nil, limit: ProofIntake.otherKeys)
        else { return result }
        let other = page.keys.first { key in
            key.id != stored.id && app.verifiers.hasSigned(reading.object, key, reading.signed)
        }
        return other.map { result.ofOtherKey($0.id, insteadOf: stored.id) } ?? result
    }

    /// The most keys of a user that are tried.
    private static let otherKeys = 8

    /// Commits a judged assertion, counter and challenge in one transaction. Nothing that can fail comes after it.
    ///
    /// - Returns: why not, as the store decides, whatever was read of the key.
    private func commit(_ judged: JudgedAssertion, _ call: Call) async throws -> ProofRefusal? {
        switch try await store.advance(judged.advance, at: call.now) {
        case .refused(let refusal): return ProofRefusal(refusal.code)
        case .advanced(let previous):
            observer.count(.assertionsAccepted)
            if judged.advance.counter <= previous { observer.count(.assertionsLate) }
            return nil
        }
    }
}

/// What an assertion itself says, and whether its challenge may be spent: all that is known without its key.
private struct AssertionReading {
    let presented: PresentedAssertion
    let object: AssertionObject
    let signed: SignedInput
    let binding: ChallengeBinding
    /// The challenge as one that was made for no user.
    let first: ChallengeReading

    /// What nobody issued, or what has expired, is refused before the store is asked.
    static func read(
        _ presented: PresentedAssertion, _ app: ServedApp, _ challenges: ChallengeCodec, at now: Date
    ) async throws -> Judged<AssertionReading> {
        try await Result { () throws(MalformedInput) in try AssertionObject(decoding: presented.assertion) }
            .mapError { ProofRefusal($0, in: .assertion) }.then { object in
                try SignedInput.assertion(challenge: presented.challenge, clientData: presented.clientData)
                    .flatMap { signed in
                        let binding = ChallengeBinding(
                            purpose: presented.terms.purpose ?? .assert, app: app.settings.id, keyId: presented.keyId)
                        let reading = AssertionReading(
                            presented: presented, object: object, signed: signed, binding: binding,
                            first: challenges.read(signed.challenge, for: binding, at: now))
                        if reading.first == .failure(.binding) { return .success(reading) }
                        return reading.first.spendable.map { _ in reading }
                    }
            }
    }

    /// The challenge that the key of a user may spend.
    func challenge(for user: String?, _ challenges: ChallengeCodec, at now: Date) -> Judged<SpendableChallenge> {
        guard let user else { return first.spendable }
        var binding = binding
        binding.user = user
        return challenges.read(signed.challenge, for: binding, at: now).spendable
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
    /// Whether what is signed can name the host that it is for.
    var namesHost = true
}

/// An assertion as it came, in shape but not yet believed.
struct PresentedAssertion: Sendable {
    let keyId: KeyIdentifier
    let assertion: [UInt8]
    let clientData: [UInt8]
    let challenge: [UInt8]?
    var terms = ProofTerms()
}

extension PresentedAssertion {
    init(_ body: RequestBody) throws(Problem) {
        self.init(
            keyId: try body.keyId(), assertion: try body.bytes("assertion"), clientData: try body.clientData(),
            challenge: try body.optionalBytes("challenge"))
    }
}

/// An assertion that was found good; nothing is committed yet.
struct JudgedAssertion: Sendable {
    let key: StoredKey
    let advance: CounterAdvance
    let trust: JudgedTrust
}
