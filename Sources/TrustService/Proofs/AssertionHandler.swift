// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import Findings
import Foundation
import TrustStores

extension ServiceCore {
    /// An assertion as it came, in shape but not yet believed.
    struct PresentedAssertion {
        let keyId: KeyIdentifier
        let assertion: [UInt8]
        let clientData: [UInt8]
        let challenge: [UInt8]?

        init(_ body: RequestBody) throws(Problem) {
            keyId = try ServiceCore.keyId(body)
            assertion = try body.bytes("assertion")
            clientData = try body.bytes("clientData")
            challenge = try body.optionalBytes("challenge")
        }
    }

    /// An assertion that was found good; nothing is committed yet.
    struct JudgedAssertion {
        let key: StoredKey
        let advance: CounterAdvance
        let tier: String
    }

    /// `POST /v1/apps/{app}/assertions`.
    func assert(_ call: Call) async throws -> Answer {
        let app = try app(call)
        let presented = try PresentedAssertion(try RequestBody(call.body))
        if app.settings.mode == .off { return .json(ServiceCore.unjudged) }
        return try await judged(app, call, keyId: presented.keyId) {
            let judged = try await judge(presented, app, call)
            try await commit(judged, call)
            return .json(["counter": .integer(Int(judged.advance.counter)), "tier": .string(judged.tier)])
        }
    }

    /// `POST /v1/apps/{app}/tokens`.
    func issueToken(_ call: Call) async throws -> Answer {
        let app = try app(call)
        let body = try RequestBody(call.body)
        let presented = try PresentedAssertion(body)
        let singleUse = try body.optionalFlag("singleUse") ?? false
        if app.settings.mode == .off { return .json(ServiceCore.unjudged) }
        return try await judged(app, call, keyId: presented.keyId) {
            let judged = try await judge(presented, app, call)
            // Signed before the commit: what fails afterwards would cost the caller an assertion that counts as spent.
            let (token, seconds) = try await tokens.issue(
                for: judged.key,
                tier: judged.tier,
                singleUse: singleUse,
                identifier: sources.random(16),
                at: call.now
            )
            try await commit(judged, call)
            observer.count("tokens.issued")
            return .json(["token": .string(token), "expiresIn": .integer(seconds)])
        }
    }

    /// Judges one assertion: challenge, then key, then signature. Everything that can fail is done here, before the commit.
    func judge(_ presented: PresentedAssertion, _ app: App, _ call: Call) async throws -> JudgedAssertion {
        let object = try AssertionObject(decoding: presented.assertion)
        let signed = try SignedInput.assertion(challenge: presented.challenge, clientData: presented.clientData)
        var binding = ChallengeBinding(purpose: .assert, app: app.settings.id, keyId: presented.keyId)
        // What nobody issued, or what has expired, is refused before the store is asked.
        let first = codec.read(signed.challenge, for: binding, at: call.now)
        if first != .refused(.binding) { _ = try first.spendable.get() }
        guard let stored = try await store.key(presented.keyId), stored.app.hasSameBytes(as: app.settings.id) else {
            _ = try first.spendable.get()
            throw ProofRefusal("key.unknown")
        }
        let key = try await trusted(stored).get()
        // A challenge that was made for a user serves the keys of that user alone.
        let spendable: SpendableChallenge
        if let user = key.user {
            binding.user = user
            spendable = try codec.read(signed.challenge, for: binding, at: call.now).spendable.get()
        } else {
            spendable = try first.spendable.get()
        }
        if key.revokedAt != nil { throw ProofRefusal("key.revoked") }
        let strict = app.settings.counterMode == .strict
        let assertion = try app.verifiers.assert(
            object,
            by: key,
            hash: signed.hash,
            above: strict ? key.counter : 0
        ).get()
        let advance = CounterAdvance(
            keyId: key.id,
            counter: assertion.counter,
            mode: strict ? .strict : .challenge,
            challenge: spendable
        )
        return JudgedAssertion(key: key, advance: advance, tier: try await tier(of: key, at: call.now))
    }

    /// Commits a judged assertion, counter and challenge in one transaction. Nothing that can fail comes after it.
    func commit(_ judged: JudgedAssertion, _ call: Call) async throws {
        switch try await store.advance(judged.advance, at: call.now) {
        case .refused(let refusal): throw ProofRefusal(Code(rawValue: refusal.rawValue))
        case .advanced(let previous):
            observer.count("assertions.accepted")
            if judged.advance.counter <= previous { observer.count("assertions.late") }
        }
    }
}
