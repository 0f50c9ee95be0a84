// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppSide
import DeviceSimulator
import Findings
import Foundation
import NIOConcurrencyHelpers
import Testing

@testable import TrustService

/// The file that apps copy, on a simulated device, against the real service.
@Suite struct AppSideTests {
    /// The simulated device under DCAppAttestService's names; Apple can be away for some calls, and every call is written down.
    private struct Device: AttestingDevice {
        let simulated: SimulatedDevice
        let app = RunningService.app
        let outages = NIOLockedValueBox(0)
        let asked = NIOLockedValueBox<[String]>([])

        var isSupported: Bool { get async { await simulated.isSupported } }
        func generateKey() async throws -> String { try await simulated.generateKey(for: app) }
        func attestKey(_ keyId: String, clientDataHash: Data) async throws -> Data {
            asked.withLockedValue { $0.append(keyId + clientDataHash.base64EncodedString()) }
            let isAway = outages.withLockedValue { left in
                left -= 1
                return left >= 0
            }
            if isAway { throw SimulatedServiceError.serverUnavailable }
            return Data(try await simulated.attestKey(keyId, clientDataHash: clientDataHash, for: app, at: Date()))
        }
        func generateAssertion(_ keyId: String, clientDataHash: Data) async throws -> Data {
            Data(try await simulated.generateAssertion(keyId, clientDataHash: clientDataHash, for: app))
        }
        func advice(for error: any Error) -> DeviceAdvice {
            switch error as? SimulatedServiceError {
            case .serverUnavailable: .sameAgain
            case .featureUnsupported: .unsupported
            default: .newKey
            }
        }
    }

    private actor Defaults: KeyIdentifierStore {
        var keyId: String?
        func load() -> String? { keyId }
        func save(_ keyId: String?) { self.keyId = keyId }
    }

    private static func device(isSupported: Bool = true) async -> Device {
        let simulated = SimulatedDevice(
            system: .iOS("27.0"),
            isSupported: isSupported,
            service: RunningService.authority
        )
        await simulated.install(RunningService.app)
        return Device(simulated: simulated)
    }

    private static func session(
        _ device: Device,
        _ store: Defaults,
        _ service: RunningService,
        posts: NIOLockedValueBox<[String]> = NIOLockedValueBox([])
    ) -> AttestedSession {
        AttestedSession(device: device, store: store, wait: { _ in }) { path, body in
            posts.withLockedValue { $0.append(path) }
            let members = body.map { JSONValue.Member($0.key, .string($0.value)) }
            let reply = try await service.post("/v1/apps/shop/\(path)", .object(members))
            return (reply.status, Data(reply.body))
        }
    }

    private static func accepts(_ proof: RequestProof, _ service: RunningService) async throws -> Reply {
        let members = proof.body.map { JSONValue.Member($0.key, .string($0.value)) }
        return try await service.post("/v1/apps/shop/assertions", .object(members))
    }

    @Test func attestsOnceAndSignsFromThenOn() async throws {
        try await RunningService.with { service in
            let (device, store) = (await Self.device(), Defaults())
            let session = Self.session(device, store, service)
            for counter in 1...3 {
                let reply = try await Self.accepts(try await session.proof(for: ["order": "\(counter)"]), service)
                #expect(reply.verdict == "200")
                #expect(reply["counter"]?.rendered(pretty: false) == "\(counter)")
            }
            #expect(device.asked.withLockedValue { $0.count } == 1)
        }
    }

    @Test func aProofIsGoodForOneRequest() async throws {
        try await RunningService.with { service in
            let proof = try await Self.session(await Self.device(), Defaults(), service).proof(for: [:])
            #expect(try await Self.accepts(proof, service).status == 200)
            #expect(try await Self.accepts(proof, service).status == 409)
        }
    }

    @Test func manyAtOnceShareOneAttestation() async throws {
        try await RunningService.with { service in
            let device = await Self.device()
            let session = Self.session(device, Defaults(), service)
            let keys = try await withThrowingTaskGroup(of: String.self) { tasks in
                for _ in 0..<20 { tasks.addTask { try await session.attestedKey() } }
                return try await tasks.reduce(into: Set<String>()) { $0.insert($1) }
            }
            #expect(keys.count == 1)
            #expect(device.asked.withLockedValue { $0.count } == 1)
        }
    }

    @Test func anOutageIsWaitedForWithTheSameKeyAndHash() async throws {
        try await RunningService.with { service in
            let device = await Self.device()
            device.outages.withLockedValue { $0 = 3 }
            _ = try await Self.session(device, Defaults(), service).attestedKey()
            #expect(device.asked.withLockedValue { $0.count } == 4)
            #expect(device.asked.withLockedValue { Set($0).count } == 1)
        }
    }

    @Test func aLongOutageIsSaidAndNothingIsKept() async throws {
        try await RunningService.with { service in
            let (device, store) = (await Self.device(), Defaults())
            device.outages.withLockedValue { $0 = 100 }
            await #expect(throws: AttestedSessionError(code: "unavailable")) {
                try await Self.session(device, store, service).attestedKey()
            }
            #expect(await store.keyId == nil)
            #expect(device.asked.withLockedValue { $0.count } == 4)
        }
    }

    @Test func aReinstalledAppBeginsWithANewKey() async throws {
        try await RunningService.with { service in
            let (device, store) = (await Self.device(), Defaults())
            let session = Self.session(device, store, service)
            let first = try await session.proof(for: [:])
            await device.simulated.reinstall(RunningService.app)
            let second = try await session.proof(for: [:])
            #expect(first.keyId != second.keyId)
            #expect(try await Self.accepts(second, service).status == 200)
        }
    }

    @Test func anUnsupportedDeviceIsASignalAndNoAttestation() async throws {
        try await RunningService.with { service in
            let posts = NIOLockedValueBox<[String]>([])
            let session = Self.session(await Self.device(isSupported: false), Defaults(), service, posts: posts)
            await #expect(throws: AttestedSessionError(code: "unsupported")) { try await session.attestedKey() }
            #expect(posts.withLockedValue { $0 } == ["signals"])
            let risk = try await service.get("/v1/apps/shop/risk", token: RunningService.adminToken)
            #expect(String(decoding: risk.body, as: UTF8.self).contains("unsupported"))
        }
    }

    @Test func whatTheServiceRefusesIsNamed() async throws {
        let other = RunningService.configuration { $0.apps[0].bundleIds = ["com.example.other"] }
        try await RunningService.with(other) { service in
            let store = Defaults()
            await #expect(throws: AttestedSessionError(code: "attest.app-id.mismatch")) {
                try await Self.session(await Self.device(), store, service).attestedKey()
            }
            #expect(await store.keyId == nil)
        }
    }
}
