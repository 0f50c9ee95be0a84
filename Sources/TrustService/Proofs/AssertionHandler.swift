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

    /// An assertion that was accepted and committed.
    struct AcceptedAssertion {
        let key: StoredKey
        let counter: UInt32
        let tier: String
    }

    /// `POST /v1/apps/{app}/assertions`.
    func assert(_ call: Call) async throws -> Answer {
        let app = try app(call)
        let presented = try PresentedAssertion(try RequestBody(call.body))
        if app.settings.mode == .off { return .json(ServiceCore.unjudged) }
        return try await judged(app, call, keyId: presented.keyId, kind: "assertion") {
            let accepted = try await accept(presented, app, call)
            return .json(["counter": .integer(Int(accepted.counter)), "tier": .string(accepted.tier)])
        }
    }

    /// `POST /v1/apps/{app}/tokens`.
    func issueToken(_ call: Call) async throws -> Answer {
        let app = try app(call)
        let body = try RequestBody(call.body)
        let presented = try PresentedAssertion(body)
        let singleUse = try body.optionalFlag("singleUse") ?? false
        if app.settings.mode == .off { return .json(ServiceCore.unjudged) }
        return try await judged(app, call, keyId: presented.keyId, kind: "token") {
            let accepted = try await accept(presented, app, call)
            let (token, seconds) = try await tokens.issue(
                for: accepted.key,
                tier: accepted.tier,
                singleUse: singleUse,
                identifier: surroundings.random(16),
                at: call.now
            )
            observer.count("tokens.issued")
            return .json(["token": .string(token), "expiresIn": .integer(seconds)])
        }
    }

    /// Judges and commits one assertion: challenge, then signature, then counter and challenge in one transaction.
    func accept(_ presented: PresentedAssertion, _ app: App, _ call: Call) async throws -> AcceptedAssertion {
        let object = try AssertionObject(decoding: presented.assertion)
        let signed = try SignedInput.assertion(challenge: presented.challenge, clientData: presented.clientData)
        var binding = ChallengeBinding(purpose: .assert, app: app.settings.id, keyId: presented.keyId)
        // What nobody issued, or what has expired, is refused before the store is asked.
        let first = codec.read(signed.challenge, for: binding, at: call.now)
        if first != .refused(.binding) { _ = try first.spendable() }
        guard let key = try await store.key(presented.keyId), key.app == app.settings.id else {
            _ = try first.spendable()
            throw Problem("key.unknown")
        }
        // A challenge that was made for a user serves the keys of that user alone.
        let spendable: SpendableChallenge
        if let user = key.user {
            binding.user = user
            spendable = try read(signed.challenge, for: binding, at: call.now)
        } else {
            spendable = try first.spendable()
        }
        if key.revokedAt != nil { throw Problem("key.revoked") }
        let strict = app.settings.counterMode == .strict
        let assertion = try app.verifiers.assert(
            object,
            by: key,
            hash: signed.hash,
            above: strict ? key.counter : 0
        )
        let advance = CounterAdvance(
            keyId: key.id,
            counter: assertion.counter,
            mode: strict ? .strict : .challenge,
            challenge: spendable
        )
        switch try await store.advance(advance, at: call.now) {
        case .refused(let refusal): throw Problem(Code(rawValue: refusal.rawValue))
        case .advanced(let previous):
            observer.count("assertions.accepted")
            if assertion.counter <= previous { observer.count("assertions.late") }
            return AcceptedAssertion(key: key, counter: assertion.counter, tier: try await tier(of: key, at: call.now))
        }
    }
}
