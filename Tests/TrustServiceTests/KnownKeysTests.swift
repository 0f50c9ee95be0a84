// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import DeviceSimulator
import Formats
import Foundation
import NIOConcurrencyHelpers
import Testing
import TrustStores
import Vocabulary

@testable import TrustService

/// A key that was read before is not read again, and nothing that happened to it meanwhile is missed.
@Suite struct KnownKeysTests {
    /// What happens to a key in the store, as another node does it: this one hears nothing of it.
    enum Change: CaseIterable, Sendable {
        case revoked, deleted, replaced, metric, gap

        func make(_ id: KeyIdentifier, in store: any TrustStore, at now: Date) async throws {
            let key = try #require(try await store.key(id))
            switch self {
            case .revoked: _ = try await store.revoke(id, code: nil, at: now)
            case .deleted: _ = try await store.deleteKey(id)
            case .replaced:
                let receipt = try #require(try await store.receipts(of: id, limit: 1).first).receipt
                _ = try await store.deleteKey(id)
                let other = KeyRecord(
                    id: id, publicKeyBytes: key.publicKeyBytes, app: "shop", identity: "TEAM123456.com.example.other",
                    environment: key.environment, simulated: key.simulated, user: nil,
                    attestationDigest: [UInt8](repeating: 7, count: 32), validationCategory: key.validationCategory,
                    bundleVersion: key.bundleVersion, osVersion: key.osVersion)
                let challenge = SpendableChallenge(id: [UInt8](repeating: 9, count: 16), expiresAt: now + 60)
                _ = try await store.insert(
                    KeyRegistration(other, receipt: receipt, refreshAt: nil), spending: challenge, at: now)
            case .metric:
                let lease = try #require(
                    try await store.leaseDueReceipts(at: now + 400 * 86_400, limit: 1, for: .seconds(30)).first)
                let receipt = ReceiptRecord(
                    bytes: [1], createdAt: lease.receipt.createdAt + 1, notBefore: nil, expiresAt: nil, riskMetric: 9)
                _ = try await store.complete(lease, with: .receipt(receipt, next: now + 86_400), at: now)
            case .gap:
                let challenge = SpendableChallenge(id: [UInt8](repeating: 8, count: 16), expiresAt: now + 60)
                _ = try await store.advance(
                    CounterAdvance(keyId: id, counter: key.counter + 1000, mode: .challenge, challenge: challenge),
                    at: now)
            }
        }

        /// What the next assertion gets.
        var verdict: String {
            switch self {
            case .revoked: "403 key.revoked"
            case .deleted: "404 key.unknown"
            case .replaced: "403 assert.app-id.mismatch"
            case .metric, .gap: "200"
            }
        }
    }

    private static func service<Result: Sendable>(
        _ body: (RunningService, _ reads: () -> Int) async throws -> Result
    ) async throws -> Result {
        let reads = NIOLockedValueBox(0)
        let store = FaultyStore { verb in if verb == "key" { reads.withLockedValue { $0 += 1 } } }
        let configuration = RunningService.configuration { $0.apps[0].counterMode = .challenge }
        return try await RunningService.with(configuration, store: store) { service in
            try await body(service) { reads.withLockedValue { $0 } }
        }
    }

    @Test func aKeyIsReadOnceAndAgainAfterTenMinutes() async throws {
        try await Self.service { service, reads in
            let phone = await Phone(service)
            let keyId = try await phone.attested()
            let before = reads()
            for _ in 0..<5 { #expect(try await phone.assert(try await phone.assertion(keyId)).status == 200) }
            #expect(reads() == before + 1)
            service.clock.advance(601)
            for _ in 0..<5 { #expect(try await phone.assert(try await phone.assertion(keyId)).status == 200) }
            #expect(reads() == before + 2)
        }
    }

    @Test(arguments: Change.allCases)
    func whatAnotherNodeChangedCountsWithTheNextAssertion(_ change: Change) async throws {
        try await Self.service { service, reads in
            let phone = await Phone(service)
            let keyId = try await phone.attested()
            #expect(try await phone.assert(try await phone.assertion(keyId)).status == 200)
            let inner = try #require(service.store as? FaultyStore).base
            try await change.make(try #require(KeyIdentifier(base64: keyId)), in: inner, at: service.clock.now)
            let before = reads()
            let reply = try await phone.assert(try await phone.assertion(keyId))
            #expect(reply.verdict == change.verdict)
            if reply.status == 200 { #expect(reads() == before + 1, "what changed was read once") }
        }
    }

    /// Also where both apps are configured with the same bundle identifier, so that the signature itself is good.
    @Test(arguments: ["com.example.shop", "com.example.other"])
    func aKnownKeyOfAnotherAppIsUnknown(_ bundle: String) async throws {
        let configuration = RunningService.configuration {
            var other = $0.apps[0]
            other.id = "other"
            other.bundleIds = [bundle]
            $0.apps.append(other)
        }
        try await RunningService.with(configuration) { service in
            let phone = await Phone(service)
            let keyId = try await phone.attested()
            #expect(try await phone.assert(try await phone.assertion(keyId)).status == 200)
            let challenge = try await phone.challenge("assert", app: "other")
            let body = try await phone.assertion(keyId, challenge: challenge)
            #expect(try await service.post("/v1/apps/other/assertions", body).verdict == "404 key.unknown")
        }
    }

    /// The tier of a token is that of the key as it is, not as it was read.
    @Test func aTokenHasTheTierOfTheChangedKey() async throws {
        try await Self.service { service, _ in
            let phone = await Phone(service)
            let keyId = try await phone.attested()
            let first = try await phone.assert(try await phone.assertion(keyId))
            let inner = try #require(service.store as? FaultyStore).base
            let id = try #require(KeyIdentifier(base64: keyId))
            try await Change.metric.make(id, in: inner, at: service.clock.now)
            try await Change.gap.make(id, in: inner, at: service.clock.now)
            let second = try await phone.assert(try await phone.assertion(keyId))
            #expect(first["tier"]?.text == "high" && second["tier"]?.text != "high", "\(first) \(second)")
        }
    }

    @Test func aWrongSignatureOfAKnownKeyIsRefusedAsBefore() async throws {
        try await Self.service { service, reads in
            let phone = await Phone(service)
            let keyId = try await phone.attested()
            #expect(try await phone.assert(try await phone.assertion(keyId)).status == 200)
            let before = reads()
            let reply = try await phone.assert(try await phone.assertion(keyId, fault: .corruptedSignature))
            #expect(reply.verdict == "403 assert.signature.invalid")
            // Once for the judgement, once for the history of the key.
            #expect(reads() <= before + 2)
        }
    }
}
