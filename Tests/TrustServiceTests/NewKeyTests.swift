// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import DeviceSimulator
import Formats
import Foundation
import NIOConcurrencyHelpers
import TLSModel
import TestSupport
import Testing
import TrustStores
import Vocabulary

@testable import TrustService

/// How many keys a user and an address may register, and what answers say of a young key.
@Suite struct NewKeyTests {
    private func configuration(_ change: (inout Configuration) -> Void) throws -> Configuration {
        let proxy = try #require(AddressRange("127.0.0.1/32"))
        return AppCheckTests.configuration {
            $0.limits.countsSimulatedKeys = true
            $0.trustedProxies = [proxy]
            change(&$0)
        }
    }

    private func attest(_ phone: Phone, user: String? = nil, from address: String? = nil) async throws -> Reply {
        let (_, body) = try await phone.attestation(user: user)
        return try await phone.service.post(
            "/v1/apps/shop/attestations", body, headers: address.map { ["X-Forwarded-For": $0] } ?? [:])
    }

    @Test func aUserRegistersOnlySoManyKeysADayOnAllNodes() async throws {
        let store = Store.inMemory()
        let settings = try configuration { $0.limits.newKeysPerUser = 3 }
        try await RunningService.with(settings, store: store) { left in
            try await RunningService.with(settings, store: store, clock: left.clock) { right in
                let phones = [await Phone(left), await Phone(right)]
                let replies = try await allAtOnce(10) { try await attest(phones[$0 % 2], user: "ada") }
                #expect(replies.count { $0.status == 201 } == 3)
                let refused = replies.filter { $0.verdict == "429 limit.keys" }
                #expect(refused.count == 7)
                #expect(refused.allSatisfy { (1...86_400).contains(Int($0.headers["retry-after"] ?? "") ?? 0) })
                #expect(try await attest(phones[0], user: "bob").status == 201)
                #expect(try await attest(phones[0]).status == 201)
                left.clock.advance(86_401)
                // The devices of tests are certified by their clock.
                #expect(try await attest(phones[1], user: "ada").status == 201)
            }
        }
    }

    /// Apple's receipts are good for three months.
    @Test func aReceiptThatExpiredIsAReasonAndNoPoint() async throws {
        try await RunningService.with { service in
            let (phone, keyId) = try await Phone.attested(service)
            func token() async throws -> Reply {
                try await service.post("/v1/apps/shop/tokens", try await phone.assertion(keyId))
            }
            let young = try await token()
            #expect(young["reasons"] == .array([.string("newKey")]))
            service.clock.advance(86_400 * 80)
            #expect(try await token()["reasons"] == .array([]))
            service.clock.advance(86_400 * 20)
            let old = try await token()
            #expect(old["reasons"] == .array([.string("receiptOld")]) && old["tier"] == young["tier"])
        }
    }

    /// A key of a build from TestFlight, before only the App Store was allowed.
    @Test func aKeyOfACategoryThatIsNoLongerAllowedHasThatReason() async throws {
        let store = Store.inMemory()
        try await RunningService.with(store: store) { (left: RunningService) async throws -> Void in
            var beta = RunningService.app
            beta.distribution = .testFlight
            let phone = await Phone(left, app: beta)
            let keyId = try await phone.attested()
            left.clock.advance(3601)
            let strict = RunningService.configuration { $0.apps[0].allowedValidationCategories = [4] }
            try await RunningService.with(strict, store: store, clock: left.clock) {
                (right: RunningService) async throws -> Void in
                let path = "/v1/apps/shop/assertions"
                let old = try await right.post(path, try await phone.assertion(keyId))
                #expect(old.verdict == "403 assert.policy.validation-category")
                var updated = phone
                updated.app.distribution = .appStore
                let current = try await right.post(path, try await updated.assertion(keyId))
                #expect(current["reasons"] == ["category"] && current["tier"] == "standard", "\(current.verdict)")
                #expect(try await phone.assert(try await phone.assertion(keyId))["reasons"] == [])
            }
        }
    }

    /// What is refused for another reason counts nothing, and what the limit refuses may be sent again.
    @Test func aRefusedRegistrationCountsNothing() async throws {
        let settings = try configuration { $0.limits.newKeysPerUser = 1 }
        try await RunningService.with(settings) { service in
            let phone = await Phone(service)
            let (_, body) = try await phone.attestation(user: "ada")
            phone.faults.next.withLockedValue { $0 = .otherApp }
            #expect(try await attest(phone, user: "ada").status == 403)
            phone.faults.next.withLockedValue { $0 = nil }
            #expect(try await service.post("/v1/apps/shop/attestations", body).status == 201)
            #expect(try await service.post("/v1/apps/shop/attestations", body).status == 200)
            #expect(try await attest(phone, user: "ada").verdict == "429 limit.keys")
        }
    }

    @Test func anAddressRegistersOnlySoManyKeysAnHourByEveryRoute() async throws {
        let settings = try configuration { $0.limits.newKeysPerAddress = 2 }
        try await RunningService.with(settings) { service in
            let phone = await Phone(service)
            for (address, status) in [
                ("2001:db8::1", 201), ("2001:db8::ffff", 201), ("2001:db8::2", 429), ("2001:db8:0:1::1", 201),
                ("192.0.2.1", 201), ("::ffff:192.0.2.1", 201), ("192.0.2.1", 429), ("192.0.2.2", 201),
            ] {
                #expect(try await attest(phone, from: address).status == status, "\(address)")
            }
            // This machine, which is also the trusted proxy, speaks for others.
            for _ in 0..<4 { #expect(try await attest(phone).status == 201) }
            let appCheck = await AppCheckPhone(service)
            let reply = try await service.post(
                AppCheckPhone.path("exchangeAppAttestAttestation"), .object(try await appCheck.attestation().body),
                headers: ["X-Forwarded-For": "192.0.2.1"])
            #expect(AppCheckPhone.verdict(reply) == "429 RESOURCE_EXHAUSTED" && reply.headers["retry-after"] != nil)
        }
    }

    @Test func productionKeysOfRealDevicesCount() {
        var limits = Configuration.Limits()
        #expect(limits.newKeysPerUser == 50 && limits.newKeysPerAddress == 0)
        limits.newKeysPerAddress = 5
        func draws(_ environment: AttestationEnvironment, _ simulated: Bool, _ address: String = "192.0.2.1") -> [Int] {
            all(environment, simulated, address).map(\.limit)
        }
        func all(_ environment: AttestationEnvironment, _ simulated: Bool, _ address: String) -> [QuotaDraw] {
            NewKeyLimits(settings: limits, trustedProxies: [], users: UserNames(.plain, secret: [1])).draws(
                app: "shop", user: "ada", environment: environment, isSimulated: simulated, address: address)
        }
        // What is counted leads to nobody without the secret of the store.
        #expect(!all(.production, false, "192.0.2.1").contains { $0.subject.contains("ada") })
        #expect(draws(.production, false) == [50, 5] && draws(.development, false) == [5])
        #expect(draws(.production, true) == [] && draws(.production, false, "::1") == [50])
        #expect(draws(.production, false, "127.0.0.9") == [50] && draws(.production, false, "unix") == [50])
        (limits.newKeysPerUser, limits.newKeysPerAddress) = (0, 0)
        #expect(draws(.production, false) == [])
    }

    @Test func aYoungKeyIsSaidToBeNew() async throws {
        try await RunningService.with { service in
            let (phone, keyId) = try await Phone.attested(service)
            func reasons() async throws -> [JSONValue?] {
                let asserted = try await phone.assert(try await phone.assertion(keyId))
                let issued = try await service.post("/v1/apps/shop/tokens", try await phone.assertion(keyId))
                let claims = issued["token"]?.text?.split(separator: ".").dropFirst().first
                let bytes = try #require(claims.flatMap { Base64.decodeURL(String($0)) })
                return [asserted["reasons"], issued["reasons"], try JSONReader.read(bytes).member("reasons")]
            }
            #expect(try await reasons() == [["newKey"], ["newKey"], ["newKey"]])
            service.clock.advance(3601)
            #expect(try await reasons() == [[], [], []])
        }
    }
}
