// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import DeviceSimulator
import Formats
import Foundation
import Testing
import TrustStores
import Vocabulary

@testable import TrustService

/// Nothing that another node does to a key is missed by the next assertion.
@Suite struct ChangedKeyTests {
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

    private static func service(_ body: (RunningService) async throws -> Void) async throws {
        let configuration = RunningService.configuration { $0.apps[0].counterMode = .challenge }
        try await RunningService.with(configuration, body)
    }

    @Test(arguments: Change.allCases)
    func whatAnotherNodeChangedCountsWithTheNextAssertion(_ change: Change) async throws {
        try await Self.service { service in
            let (phone, keyId) = try await Phone.attested(service)
            #expect(try await phone.assert(try await phone.assertion(keyId)).status == 200)
            try await change.make(try #require(KeyIdentifier(base64: keyId)), in: service.store, at: service.clock.now)
            let reply = try await phone.assert(try await phone.assertion(keyId))
            #expect(reply.verdict == change.verdict)
        }
    }

    /// Also where both apps are configured with the same bundle identifier, so that the signature itself is good.
    @Test(arguments: ["com.example.shop", "com.example.other"])
    func aKeyOfAnotherAppIsUnknown(_ bundle: String) async throws {
        let configuration = RunningService.configuration {
            var other = $0.apps[0]
            other.id = "other"
            other.bundleIds = [bundle]
            $0.apps.append(other)
        }
        try await RunningService.with(configuration) { service in
            let (phone, keyId) = try await Phone.attested(service)
            #expect(try await phone.assert(try await phone.assertion(keyId)).status == 200)
            let challenge = try await phone.challenge("assert", app: "other")
            let body = try await phone.assertion(keyId, challenge: challenge)
            #expect(try await service.post("/v1/apps/other/assertions", body).verdict == "404 key.unknown")
        }
    }

    /// The tier of a token is that of the key as it is, not as it was read.
    @Test func aTokenHasTheTierOfTheChangedKey() async throws {
        try await Self.service { service in
            let (phone, keyId) = try await Phone.attested(service)
            let first = try await phone.assert(try await phone.assertion(keyId))
            let id = try #require(KeyIdentifier(base64: keyId))
            try await Change.metric.make(id, in: service.store, at: service.clock.now)
            try await Change.gap.make(id, in: service.store, at: service.clock.now)
            let second = try await phone.assert(try await phone.assertion(keyId))
            #expect(first["tier"]?.text == "high" && second["tier"]?.text != "high", "\(first) \(second)")
        }
    }
}
