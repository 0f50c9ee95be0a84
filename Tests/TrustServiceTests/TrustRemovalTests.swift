// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import AppleServices
import Crypto
import DeviceSimulator
import Formats
import Foundation
import NIOConcurrencyHelpers
import TestSupport
import Testing
import TrustStores
import Vocabulary

@testable import TrustService

/// A store in a file of its own, to be opened again after a service has closed it.
struct StoreFile: Sendable {
    let path = TemporaryDirectory.shared.path("\(UUID().uuidString).sqlite")

    func open() throws -> any TrustStore { try SQLTrustStore.sqlite(at: path) }
}

/// Trust that is taken out of the configuration ends with the next request, on every route.
@Suite(.serialized) struct TrustRemovalTests {
    /// What is taken away after a key was attested.
    enum Removal: String, CaseIterable, Sendable {
        case simulator, otherSimulator, otherAttestationRoot, otherReceiptRoot, environment, app

        func change(_ configuration: inout Configuration) throws {
            switch self {
            case .simulator: configuration.trustSimulator = nil
            case .otherSimulator, .otherAttestationRoot, .otherReceiptRoot:
                var random = SimulatorRandom(seed: 77)
                let other = try SimulatedAuthority(random: &random)
                configuration.trustSimulator = SimulatorTrust(
                    attestationRootPEM: (self == .otherReceiptRoot ? RunningService.authority : other)
                        .attestationRootPEM,
                    receiptRootPEM: (self == .otherAttestationRoot ? RunningService.authority : other).receiptRootPEM)
            case .environment: configuration.apps[0].environments = [.development]
            case .app:
                configuration.apps[0].id = "other"
                configuration.apps[0].bundleIds = ["com.example.other"]
            }
        }
    }

    /// A phone, its key and tokens, made while everything was trusted.
    private struct Before: Sendable {
        let phone: Phone
        let keyId: String
        let attestation: JSONValue
        let token: String
        let single: JSONValue
    }

    private func prepare(_ service: RunningService) async throws -> Before {
        let phone = await Phone(service)
        let (keyId, body) = try await phone.attestation(user: "anna")
        #expect(try await service.post("/v1/apps/shop/attestations", body).status == 201)
        return Before(
            phone: phone, keyId: keyId, attestation: body, token: try await phone.token(keyId),
            single: .string(try await phone.token(keyId, singleUse: true)))
    }

    /// The same phone, talking to another run of the service.
    private func assertion(
        _ before: Before, _ service: RunningService, _ extra: [JSONValue.Member] = []
    ) async throws
        -> JSONValue
    {
        let issued = try await service.post("/v1/apps/shop/challenges", ["purpose": "assert"])
        let challenge = try #require(issued["challenge"]?.text.flatMap(Base64.decode))
        return try await before.phone.assertion(before.keyId, challenge: challenge, extra: extra)
    }

    @Test(arguments: Removal.allCases)
    func everyUseIsRefusedAndOperatorsSeeAndRemoveTheKey(_ removal: Removal) async throws {
        let (disk, clock) = (StoreFile(), TestClock())
        let apple = ManyPhones()
        let before = try await RunningService.with(
            PromotionTests.configuration(), store: try disk.open(), clock: clock, transport: apple
        ) { try await prepare($0) }
        var configuration = PromotionTests.configuration()
        try removal.change(&configuration)
        try await RunningService.with(configuration, store: try disk.open(), clock: clock, transport: apple) {
            service in
            if removal != .app {
                let reply = try await service.post("/v1/apps/shop/assertions", try await assertion(before, service))
                #expect(reply.verdict == "404 key.unknown")
                let token = try await service.post("/v1/apps/shop/tokens", try await assertion(before, service))
                #expect(token.verdict == "404 key.unknown")
                let claim = try await assertion(
                    before,
                    service,
                    [
                        .init("promotion", "welcome"), .init("transactionId", "t"),
                        .init("deviceTokens", [.string(ManyPhones.token("a")), .string(ManyPhones.token("a"))]),
                    ]
                )
                let promotion = try await service.post("/v1/apps/shop/promotions/welcome/claim", claim)
                #expect(promotion.verdict == "404 key.unknown")
                let again = try await service.post("/v1/apps/shop/attestations", before.attestation)
                #expect(again.verdict == "404 key.unknown")
            }
            #expect(apple.calls.isEmpty)
            let gateway = try await service.get("/v1/authorize?simulated=allow&env=any", token: before.token)
            #expect(gateway.verdict == "401 token.invalid")
            let consumed = try await service.post(
                "/v1/tokens/consume", ["token": before.single], token: RunningService.serverToken)
            #expect(consumed.verdict == "401 token.invalid")
            let path = RunningService.path(before.keyId)
            let shown = try await service.get(path, token: RunningService.adminToken)
            #expect(shown["trusted"] == .bool(false))
            let metrics = try await service.get("/metrics")
            let used = String(decoding: metrics.body, as: UTF8.self).split(separator: "\n")
                .filter { $0.hasPrefix("sealward_keys_untrusted_used_total{") }
            #expect(used.contains { !$0.hasSuffix(" 0") })
            #expect(try await service.revoke(before.keyId).status == 200)
            #expect(try await service.delete(path).status == 204)
            #expect(try await service.get(path, token: RunningService.adminToken).verdict == "404 key.unknown")
        }
    }

    /// Apple, or a simulator in its place, is not asked about a key that nobody trusts any more.
    @Test(arguments: [Removal.simulator, .otherSimulator, .otherAttestationRoot, .otherReceiptRoot, .environment])
    func receiptsOfDistrustedKeysAreNotRefreshed(_ removal: Removal) async throws {
        let (disk, clock, apple) = (StoreFile(), TestClock(), ScriptedApple())
        _ = try await RunningService.with(
            PromotionTests.configuration(), store: try disk.open(), clock: clock, transport: apple
        ) {
            try await prepare($0)
        }
        var configuration = PromotionTests.configuration()
        try removal.change(&configuration)
        let server = try await RunningService.idle(
            configuration, store: try disk.open(), clock: clock, transport: apple)
        clock.advance(86_400 * 1.2)
        let worker = ReceiptWorker(parts: server.parts, apple: try #require(server.parts.live.current.apple))
        #expect(try await worker.round() == 1)
        #expect(apple.state.withLockedValue { $0.requests.isEmpty })
    }

    /// What was judged under the roots of before is stored after they were taken away, and counts for nothing.
    @Test func aRegistrationInFlightEndsWithItsRoots() async throws {
        let parts = NIOLockedValueBox<ServiceParts?>(nil)
        let store = FaultyStore { verb in
            guard verb == "insert" else { return }
            var other = RunningService.configuration()
            try Removal.otherSimulator.change(&other)
            let configuration = other
            let reloaded = await parts.withLockedValue { $0 }?.reload { .configuration(configuration) }
            #expect(reloaded == true)
        }
        try await RunningService.with(
            store: store,
            interfaces: { made in
                parts.withLockedValue { $0 = made }
                return []
            }
        ) { service in
            let (phone, keyId) = try await Phone.attested(service)
            #expect(try await phone.assert(try await phone.assertion(keyId)).verdict == "404 key.unknown")
            let path = RunningService.path(keyId)
            #expect(try await service.get(path, token: RunningService.adminToken)["trusted"] == .bool(false))
        }
        parts.withLockedValue { $0 = nil }
    }

    @Test func whatIsTrustedStaysTrusted() async throws {
        let (disk, clock) = (StoreFile(), TestClock())
        let before = try await RunningService.with(store: try disk.open(), clock: clock) { try await prepare($0) }
        try await RunningService.with(store: try disk.open(), clock: clock) { service in
            #expect(try await service.get("/v1/authorize?simulated=allow", token: before.token).status == 204)
            #expect(try await service.post("/v1/apps/shop/attestations", before.attestation).status == 200)
            let reply = try await service.post("/v1/apps/shop/assertions", try await assertion(before, service))
            #expect(reply.status == 200)
            let path = RunningService.path(before.keyId)
            #expect(try await service.get(path, token: RunningService.adminToken)["trusted"] == .bool(true))
        }
    }
}
