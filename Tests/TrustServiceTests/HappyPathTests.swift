// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Crypto
import DeviceSimulator
import Formats
import Foundation
import TestSupport
import Testing
import TrustStores
import Vocabulary

@testable import TrustService

@Suite struct HappyPathTests {
    @Test(arguments: ["14.0", "17.6", "26.1", "27.0"])
    func aDeviceAttestsAssertsAndGetsATokenThatAGatewayAccepts(_ version: String) async throws {
        try await RunningService.with { service in
            let phone = await Phone(service, system: .iOS(version))
            let (keyId, body) = try await phone.attestation()
            let attested = try await service.post("/v1/apps/shop/attestations", body)
            #expect(attested.status == 201)
            #expect(attested["keyId"]?.text == keyId)
            #expect(attested["environment"]?.text == "production")
            #expect(attested["validationCategory"] == (version == "27.0" ? .integer(4) : .null))
            #expect(attested["bundleVersion"] == (version == "27.0" ? .string("1") : .null))
            // The byte-equal object again changes nothing, whatever became of the challenge.
            #expect(try await service.post("/v1/apps/shop/attestations", body).status == 200)

            let accepted = try await phone.assert(try await phone.assertion(keyId))
            #expect(accepted.status == 200)
            #expect(accepted["counter"] == .integer(1))
            #expect(accepted["tier"]?.text != nil)

            let token = try await service.post("/v1/apps/shop/tokens", try await phone.assertion(keyId))
            let text = try #require(token["token"]?.text)
            #expect(token["expiresIn"] == .integer(3600))
            // A simulated device's token opens a gateway that asks for it, and no other.
            #expect(try await service.get("/v1/authorize", token: text).verdict == "403 policy.simulated")
            #expect(try await service.get("/v1/authorize?simulated=allow", token: text).status == 204)
            #expect(try await service.get("/v1/authorize").verdict == "401 token.missing")
        }
    }

    @Test func everyBindingCoversTheChallenge() async throws {
        for binding in Configuration.Binding.allCases {
            try await RunningService.with(RunningService.configuration { $0.apps[0].binding = binding }) { service in
                let phone = await Phone(service)
                let challenge = try await phone.challenge("attest")
                let keyId = try await phone.device.generateKey(for: phone.app)
                let clientData = Array(#"{"n":1,"challenge":"\#(Base64.encode(challenge))"}"#.utf8)
                let hash: [UInt8] =
                    switch binding {
                    case .challenge: SHA(challenge)
                    case .raw: challenge
                    case .clientData: SHA(clientData)
                    }
                let object = try await phone.device.attestKey(
                    keyId, clientDataHash: hash, for: phone.app, at: service.clock.now)
                let reply = try await service.post(
                    "/v1/apps/shop/attestations",
                    [
                        "keyId": .string(keyId), "attestation": .string(Base64.encode(object)),
                        "challenge": .string(Base64.encode(challenge)),
                        "clientData": .string(Base64.encode(clientData)),
                    ]
                )
                #expect(reply.status == 201, "\(binding): \(reply.verdict)")
            }
        }
    }

    @Test func aChallengeBesideTheClientDataIsSignedAfterIt() async throws {
        try await RunningService.with { service in
            let (phone, keyId) = try await Phone.attested(service)
            let challenge = try await phone.challenge("assert", keyId: keyId)
            let data = Array("not JSON at all".utf8)
            let body = try await phone.signed(keyId, data, over: data + challenge, challenge: challenge)
            #expect(try await phone.assert(body).status == 200)
            let other = try await phone.challenge("assert", keyId: keyId)
            let unsigned = try await phone.signed(keyId, data, over: data, challenge: other)
            #expect(try await phone.assert(unsigned).verdict == "403 assert.signature.invalid")
        }
    }

    @Test func singleUseTokensPassOnce() async throws {
        try await RunningService.with { service in
            let (phone, keyId) = try await Phone.attested(service)
            let body = try await phone.assertion(keyId).adding([.init("singleUse", true)])
            let issued = try await service.post("/v1/apps/shop/tokens", body)
            #expect(issued["expiresIn"] == .integer(300))
            let token = try #require(issued["token"])
            let text = try #require(token.text)
            #expect(
                try await service.get("/v1/authorize?simulated=allow", token: text).verdict == "403 token.single-use")
            #expect(try await service.post("/v1/tokens/consume", ["token": token]).verdict == "401 caller.unauthorized")
            let spend = {
                try await service.post(
                    "/v1/tokens/consume", ["token": token, "simulated": "allow"], token: RunningService.serverToken)
            }
            let first = try await spend()
            #expect(first.status == 200)
            #expect(first["key"]?.text == keyId)
            #expect(first["sub"]?.text == "TEAM123456.com.example.shop")
            #expect(try await spend().verdict == "409 token.spent")
            let plain = try await service.post("/v1/apps/shop/tokens", try await phone.assertion(keyId))
            let reused = try await service.post(
                "/v1/tokens/consume", ["token": try #require(plain["token"])], token: RunningService.serverToken)
            #expect(reused.verdict == "400 token.not-single-use")
        }
    }

    @Test func operatorsSeeAndRevokeAKey() async throws {
        try await RunningService.with { service in
            let (phone, keyId) = try await Phone.attested(service, user: "ada")
            let token = try await phone.token(keyId)
            let path = RunningService.path(keyId)
            #expect(try await service.get(path).verdict == "401 caller.unauthorized")
            #expect(try await service.get(path, token: RunningService.serverToken).verdict == "401 caller.unauthorized")
            let shown = try await service.get(path, token: RunningService.adminToken)
            #expect(shown["user"]?.text == "ada")
            #expect(shown["counter"] == .integer(1))
            #expect(shown["revoked"] == .bool(false))
            #expect(try await service.revoke(keyId).status == 200)
            #expect(try await service.get(path, token: RunningService.adminToken)["revoked"] == .bool(true))
            #expect(try await phone.assert(try await phone.assertion(keyId)).verdict == "403 key.revoked")
            #expect(try await service.get("/v1/authorize?simulated=allow", token: token).verdict == "403 key.revoked")
            #expect(
                try await service.get("/v1/keys/AAAA", token: RunningService.adminToken).verdict == "404 key.unknown")
        }
    }

    @Test func theContractIsServedAndNamesEveryRoute() async throws {
        let text = try String(
            contentsOf: BuiltProgram.repository.appendingPathComponent("docs/openapi.yaml"), encoding: .utf8)
        #expect(OpenAPIDocument.text == text)
        // Each operation whose calls the audit records takes the reason.
        let operations = text.components(separatedBy: "      operationId: ").dropFirst()
        let taking = Set(
            operations.filter { $0.contains("{$ref: '#/components/parameters/reason'}") }
                .compactMap { $0.split(separator: "\n").first.map(String.init) })
        for route in try await RunningService.idle().table.routes {
            guard case .role = route.access else { continue }
            #expect(taking.contains(route.operation), "\(route.operation)")
        }
        try await RunningService.with { service in
            let served = try await service.get("/openapi.yaml")
            #expect(String(decoding: served.body, as: UTF8.self) == text)
        }
    }
}

func SHA(_ bytes: [UInt8]) -> [UInt8] { Array(SHA256.hash(data: bytes)) }
