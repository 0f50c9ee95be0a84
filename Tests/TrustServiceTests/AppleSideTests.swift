// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

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

/// Apple's answers by script: the bits of one device, and receipts.
final class ScriptedApple: AppleTransport, Sendable {
    struct State {
        var bits: (Bool, Bool)?
        var month = "2026-11"
        var requests: [AppleRequest] = []
        var status = 200
        /// What an answer says that is not 200.
        var refusal = ""
        var receipt: [UInt8]?
        /// What a host answers instead, by a part of its name.
        var hosts: [String: (status: Int, text: String)] = [:]
    }

    let state = NIOLockedValueBox(State())

    func send(_ request: AppleRequest) async throws -> AppleAnswer {
        state.withLockedValue { state in
            state.requests.append(request)
            if let other = state.hosts.first(where: { request.url.contains($0.key) })?.value {
                return AppleAnswer(status: other.status, headers: [:], body: Array(other.text.utf8))
            }
            if state.status != 200 {
                return AppleAnswer(status: state.status, headers: [:], body: Array(state.refusal.utf8))
            }
            if request.url.hasSuffix("/v1/attestationData") {
                return AppleAnswer(status: 200, headers: [:], body: Array(Base64.encode(state.receipt ?? []).utf8))
            }
            if request.url.hasSuffix("query_two_bits") {
                guard let bits = state.bits else {
                    return AppleAnswer(status: 200, headers: [:], body: Array("Failed to find bit state".utf8))
                }
                let text = #"{"bit0":\#(bits.0),"bit1":\#(bits.1),"last_update_time":"\#(state.month)"}"#
                return AppleAnswer(status: 200, headers: [:], body: Array(text.utf8))
            }
            if request.url.hasSuffix("update_two_bits"), let members = (try? JSONReader.read(request.body))?.members {
                func bit(_ name: String) -> Bool { members.first { $0.name == name }?.value == .bool(true) }
                state.bits = (bit("bit0"), bit("bit1"))
            }
            return AppleAnswer(status: 200, headers: [:], body: [])
        }
    }
}

extension Configuration.AppleAccount {
    static var ofTests: Self {
        Self(teamId: "TEAM123456", keyId: "KEY1234567", keyPEM: P256.Signing.PrivateKey().pemRepresentation)
    }
}

/// Apple as it answers 304 once enough requests are open, or after ten seconds.
final class PatientApple: AppleTransport, Sendable {
    private let wanted: Int
    private let open = NIOLockedValueBox<(now: Int, highest: Int)>((0, 0))

    init(wanted: Int) { self.wanted = wanted }

    var highest: Int { open.withLockedValue { $0.highest } }

    func send(_ request: AppleRequest) async throws -> AppleAnswer {
        open.withLockedValue { open in
            open.now += 1
            open.highest = max(open.highest, open.now)
        }
        try? await eventually("all requests are open", within: .seconds(10)) { highest >= wanted }
        open.withLockedValue { $0.now -= 1 }
        return AppleAnswer(status: 304, headers: [:], body: [])
    }
}

@Suite struct AppleSideTests {
    private func configuration() -> Configuration {
        RunningService.configuration {
            $0.bits = [
                Configuration.Bit(bit: 0, name: "welcome", resetAfterMonths: 12),
                Configuration.Bit(bit: 1, name: "banned"),
            ]
            $0.apple = .ofTests
        }
    }

    @Test func bitsAreReadAndWrittenByName() async throws {
        let apple = ScriptedApple()
        try await RunningService.with(configuration(), transport: apple) { service in
            let unset = try await service.deviceCheck("query")
            #expect(unset["set"] == .bool(false))
            #expect(unset["lastUpdate"] == .null)
            #expect(unset["bits"] == ["welcome": false, "banned": false])
            let updated = try await service.deviceCheck("update", [.init("bits", ["banned": true])])
            #expect(updated["bits"] == ["welcome": false, "banned": true])
            #expect(try await service.deviceCheck("query")["bits"] == ["welcome": false, "banned": true])
            #expect(try await service.deviceCheck("validate").status == 204)
            #expect(
                try await service.deviceCheck("update", [.init("bits", ["other": true])]).verdict
                    == "400 request.malformed")
            apple.state.withLockedValue { $0.status = 503 }
            let down = try await service.deviceCheck("query")
            #expect(down.verdict == "503 apple.unavailable")
            #expect(down.headers["retry-after"] != nil)
        }
    }

    /// A token of a development build is found out by Apple's 400 in production, never by a fault there.
    @Test func tokensOfBothEnvironmentsAreAsked() async throws {
        let apple = ScriptedApple()
        try await RunningService.with(configuration(), transport: apple) { service in
            func hosts() -> [Bool] {
                apple.state.withLockedValue { state in
                    defer { state.requests = [] }
                    return state.requests.map { $0.url.contains("development") }
                }
            }
            #expect(try await service.deviceCheck("query")["environment"] == "production")
            #expect(hosts() == [false])
            apple.state.withLockedValue { $0.hosts = ["//api.devicecheck": (400, "Bad Device Token")] }
            #expect(try await service.deviceCheck("query")["environment"] == "development")
            #expect(hosts() == [false, true])
            // Both bits: the environment is found out by reading, so nothing is written to the wrong one.
            let both = try await service.deviceCheck("update", [.init("bits", ["banned": true, "welcome": true])])
            #expect(both["environment"] == "development")
            #expect(apple.state.withLockedValue { $0.requests.first?.url.hasSuffix("query_two_bits") } == true)
            #expect(hosts() == [false, true, true, true])
            #expect(
                try await service.deviceCheck("query", [.init("environment", "production")]).verdict
                    == "400 deviceToken.invalid")
            #expect(hosts() == [false])
            #expect(
                try await service.deviceCheck("query", [.init("environment", "development")])["environment"]
                    == "development")
            #expect(hosts() == [true])
            #expect(
                try await service.deviceCheck("query", [.init("environment", "sandbox")]).verdict
                    == "400 request.malformed")
            apple.state.withLockedValue { $0.hosts = ["//api.devicecheck": (503, "")] }
            #expect(try await service.deviceCheck("query").verdict == "503 apple.unavailable")
            #expect(hosts().allSatisfy { !$0 })
        }
    }

    @Test func aPromotionIsGrantedOnceForADevice() async throws {
        let apple = ScriptedApple()
        try await RunningService.with(configuration(), transport: apple) { service in
            func claim(_ phone: Phone, _ keyId: String, _ transaction: String) async throws -> Reply {
                let body = try await phone.assertion(
                    keyId,
                    extra: [
                        .init("promotion", "welcome"), .init("transactionId", .string(transaction)),
                        .init("deviceTokens", ["AAAA", "BBBB"]),
                    ]
                )
                return try await service.post("/v1/apps/shop/promotions/welcome/claim", body)
            }
            let (phone, keyId) = try await Phone.attested(service)
            let first = try await claim(phone, keyId, "t1")
            #expect(first["granted"] == .bool(true))
            #expect(first["firstClaim"] == .bool(true))
            #expect(first["lastUpdate"] == .null)
            let again = try await claim(phone, keyId, "t1")
            #expect(again.body == first.body)
            #expect(apple.state.withLockedValue { $0.requests.count } == 4)
            // A reinstall makes a new key; the bit stays.
            await phone.device.reinstall(phone.app)
            let second = try await claim(phone, try await phone.attested(), "t2")
            #expect(second["granted"] == .bool(false))
            #expect(second["firstClaim"] == .bool(false))
            let server = try await service.post(
                "/v1/promotions/welcome/claim",
                ["app": "shop", "deviceTokens": ["AAAA", "BBBB"], "transactionId": "t3"],
                token: RunningService.serverToken)
            #expect(server["granted"] == .bool(false))
            #expect(server["lastUpdate"]?.text?.count == 7)
            let unknown = try await service.post("/v1/promotions/none/claim", [:], token: RunningService.serverToken)
            #expect(unknown.verdict == "404 promotion.unknown")
        }
    }

    /// The worker of a service on this store.
    private func worker(
        _ settings: Configuration, _ store: any TrustStore, _ apple: any AppleTransport, _ clock: TestClock
    ) async throws -> ReceiptWorker {
        let server = try await RunningService.idle(settings, store: store, clock: clock, transport: apple)
        return ReceiptWorker(parts: server.parts, apple: try #require(server.parts.live.current.apple))
    }

    /// Apple answers no one of the batch before all of it was asked: one after another, the first would wait for ever.
    @Test func aBatchOfReceiptsIsAskedForAtOnce() async throws {
        let (store, clock, apple) = (Store.inMemory(), TestClock(), PatientApple(wanted: 6))
        let settings = configuration()
        let worker = try await worker(settings, store, apple, clock)
        try await RunningService.with(settings, store: store, clock: clock, transport: apple) { service in
            let phone = await Phone(service)
            for _ in 0..<6 { _ = try await phone.attested() }
            clock.advance(86_400 * 1.2)
            #expect(try await worker.round() == 6)
            #expect(apple.highest == 6)
            #expect(try await worker.round() == 0)
        }
        // Two requests of thirty seconds each are the worst case of every receipt of a batch.
        #expect(ReceiptWorker.lease >= .seconds(120))
    }

    @Test func receiptsAreRefreshedWhenDueAndNeverBeforeField19() async throws {
        let apple = ScriptedApple()
        let settings = configuration()
        let store = Store.inMemory()
        let clock = TestClock()
        let worker = try await worker(settings, store, apple, clock)
        try await RunningService.with(settings, store: store, clock: clock, transport: apple) { service in
            let (phone, keyId) = try await Phone.attested(service)
            let key = try #require(Base64.decode(keyId))
            #expect(try await worker.round() == 0)
            clock.advance(86_400 * 1.2)
            let attestation = try #require(await phone.device.attestation(of: keyId))
            let receipt = try RunningService.authority.refreshedReceipt(
                app: phone.app, publicKey: try #require(await phone.device.publicKey(of: keyId)),
                leafCertificate: attestation.leafCertificate, clientDataHash: [UInt8](repeating: 1, count: 32),
                riskMetric: 12, at: clock.now)
            apple.state.withLockedValue { $0.receipt = receipt }
            #expect(try await worker.round() == 1)
            let path = "/v1/keys/" + Base64.encodeURL(key)
            #expect(try await service.get(path, token: RunningService.adminToken)["riskMetric"] == .integer(12))
            let risk = try await service.get("/v1/apps/shop/risk", token: RunningService.adminToken)
            #expect(risk["metrics"] == [["environment": "production", "metric": 12, "keys": 1]])
            // Not due again before its day, nor while Apple says 304.
            #expect(try await worker.round() == 0)
            clock.advance(86_400 * 1.2)
            apple.state.withLockedValue { $0.status = 304 }
            #expect(try await worker.round() == 1)
            #expect(try await worker.round() == 0)
            #expect(try await service.get(path, token: RunningService.adminToken)["riskMetric"] == .integer(12))
        }
    }
}

extension RunningService {
    fileprivate func deviceCheck(_ name: String, _ extra: [JSONValue.Member] = []) async throws -> Reply {
        let body = JSONValue.object(
            [.init("app", "shop"), .init("deviceToken", "AAAA"), .init("transactionId", "t1")] + extra)
        return try await post("/v1/devicecheck/\(name)", body, token: RunningService.serverToken)
    }
}
