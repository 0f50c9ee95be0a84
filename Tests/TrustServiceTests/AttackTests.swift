// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import DeviceSimulator
import Formats
import Foundation
import NIOConcurrencyHelpers
import TestSupport
import Testing
import TrustStores
import Vocabulary

@testable import TrustService

/// Requirement B9: each attack is refused with its own code, and changes nothing.
@Suite struct AttackTests {
    @Test(arguments: AttackSite.available) func everyFaultOfAnAttestationHasItsCode(_ site: AttackSite) async throws {
        try await site.run { service in
            for fault in AttestationFault.allCases {
                let phone = await Phone(service)
                phone.faults.next.withLockedValue { $0 = fault }
                let (keyId, body) = try await phone.attestation()
                let reply = try await service.post("/v1/apps/shop/attestations", body)
                // Both environments are accepted here, so the other one is no fault.
                let wanted =
                    fault == .otherEnvironment
                    ? "receipt.environment.mismatch" : fault.expectedCode ?? fault.row.receiptCode
                if let wanted {
                    #expect(reply.code == wanted, "\(fault)")
                    #expect(reply.status == (wanted.hasPrefix("malformed") ? 400 : 403), "\(fault)")
                    let id = try #require(KeyIdentifier(strictBase64: keyId))
                    #expect(try await service.store.key(id) == nil, "\(fault)")
                } else {
                    #expect(reply.status == 201, "\(fault): \(reply.verdict)")
                }
            }
        }
    }

    @Test(arguments: AttackSite.available) func everyFaultOfAnAssertionHasItsCode(_ site: AttackSite) async throws {
        try await site.run { service in
            for fault in AssertionFault.allCases {
                let (phone, keyId) = try await Phone.attested(service)
                _ = try await phone.assert(try await phone.assertion(keyId))
                let reply = try await phone.assert(try await phone.assertion(keyId, fault: fault))
                if let wanted = fault.expectedCode {
                    let status = wanted.hasPrefix("malformed") ? 400 : wanted.hasSuffix("replayed") ? 409 : 403
                    #expect(reply.verdict == "\(status) \(wanted)", "\(fault)")
                    let key = try await service.store.key(try #require(KeyIdentifier(strictBase64: keyId)))
                    #expect(key?.counter == 1, "\(fault)")
                } else {
                    #expect(reply.status == 200, "\(fault): \(reply.verdict)")
                }
            }
        }
    }

    @Test(arguments: AttackSite.available) func modifiedAndReplayedRequestsAreRefused(_ site: AttackSite) async throws {
        try await site.run { service in
            let (phone, keyId) = try await Phone.attested(service)
            // A replay.
            let body = try await phone.assertion(keyId)
            #expect(try await phone.assert(body).status == 200)
            let replay = try await phone.assert(body)
            #expect(replay.status == 409)
            #expect(["assert.counter.replayed", "challenge.used"].contains(replay.code))
            #expect(replay["retry"]?.text == "new-challenge")
            // A new assertion for a challenge that was used.
            let challenge = try await phone.challenge("assert")
            #expect(try await phone.assert(try await phone.assertion(keyId, challenge: challenge)).status == 200)
            #expect(
                try await phone.assert(try await phone.assertion(keyId, challenge: challenge)).verdict
                    == "409 challenge.used")
            // A modified payload.
            let fresh = try await phone.challenge("assert")
            let text = #"{"challenge":"\#(Base64.encode(fresh))","amount":1}"#
            let changed = try await phone.signed(
                keyId, Array(text.replacing("1}", with: "9}").utf8), over: Array(text.utf8))
            #expect(try await phone.assert(changed).verdict == "403 assert.signature.invalid")
            // Duplicate and missing challenges.
            for data in [#"{"challenge":"AA==","challenge":"AA=="}"#, "{}", "no JSON", #"{"challenge":7}"#] {
                let reply = try await phone.assert(
                    try await phone.signed(keyId, Array(data.utf8), over: Array(data.utf8)))
                #expect(reply.verdict == "400 challenge.missing", "\(data)")
            }
        }
    }

    @Test(arguments: AttackSite.available) func challengesServeWhatTheyWereMadeFor(_ site: AttackSite) async throws {
        let configuration = RunningService.configuration { settings in
            settings.apps.append(settings.apps[0])
            settings.apps[1].id = "other"
        }
        try await site.run(configuration) { service in
            let (phone, keyId) = try await Phone.attested(service)
            let other = try await phone.attested()
            func verdict(_ challenge: [UInt8]) async throws -> String {
                try await phone.assert(try await phone.assertion(keyId, challenge: challenge)).verdict
            }
            #expect(try await verdict(try await phone.challenge("attest")) == "409 challenge.binding")
            #expect(try await verdict(try await phone.challenge("assert", keyId: other)) == "409 challenge.binding")
            #expect(try await verdict(try await phone.challenge("assert", app: "other")) == "409 challenge.binding")
            #expect(try await verdict(try await phone.challenge("assert", user: "eve")) == "409 challenge.binding")
            #expect(try await verdict([UInt8](repeating: 7, count: 56)) == "409 challenge.unknown")
            let late = try await phone.challenge("assert")
            service.clock.advance(301)
            #expect(try await verdict(late) == "409 challenge.expired")
            #expect(try await verdict(try await phone.challenge("assert", keyId: keyId)) == "200")
        }
    }

    @Test(arguments: AttackSite.available) func aKeyBelongsToOneUser(_ site: AttackSite) async throws {
        try await site.run { service in
            let phone = await Phone(service)
            let (_, body) = try await phone.attestation(user: "ada")
            #expect(try await service.post("/v1/apps/shop/attestations", body).status == 201)
            #expect(try await service.post("/v1/apps/shop/attestations", body).status == 200)
            let members = try #require(body.members)
            let eve = JSONValue.object(members.filter { $0.name != "user" } + [.init("user", "eve")])
            #expect(try await service.post("/v1/apps/shop/attestations", eve).code == "challenge.binding")
            // A user may be named where a server asked for the challenge, and nowhere else.
            let reply = try await service.post("/v1/apps/shop/challenges", ["purpose": "attest", "user": "ada"])
            #expect(reply.verdict == "401 caller.unauthorized")
            let (_, stolen) = try await phone.attestation()
            let claimed = JSONValue.object((stolen.members ?? []) + [.init("user", "ada")])
            #expect(try await service.post("/v1/apps/shop/attestations", claimed).verdict == "409 challenge.binding")
        }
    }

    @Test(arguments: AttackSite.available) func anAttestationIsNoAssertion(_ site: AttackSite) async throws {
        try await site.run { service in
            let (phone, keyId) = try await Phone.attested(service)
            let (_, body) = try await phone.attestation()
            let object = try #require(body.members?.first { $0.name == "attestation" }?.value)
            let reply = try await phone.assert(["keyId": .string(keyId), "assertion": object, "clientData": "e30="])
            #expect(reply.status == 400)
            #expect(reply.code?.hasPrefix("malformed.") == true)
        }
    }

    @Test(arguments: ["strict", "challenge"], AttackSite.available)
    func twoHundredRacesHaveOneWinner(_ mode: String, _ site: AttackSite) async throws {
        let configuration = RunningService.configuration {
            $0.apps[0].counterMode = mode == "strict" ? .strict : .challenge
        }
        try await site.run(configuration) { service in
            let (phone, keyId) = try await Phone.attested(service)
            func assertAtOnce(_ what: String, _ bodies: [JSONValue]) async throws {
                let replies = try await allAtOnce(200) { try await phone.assert(bodies[$0 % bodies.count]).verdict }
                    .tally
                #expect(replies["200"] == 1, "\(what): \(replies)")
                let allowed: Set = ["200", "409 assert.counter.replayed", "409 challenge.used"]
                #expect(allowed.isSuperset(of: replies.keys), "\(what): \(replies)")
                #expect(replies.values.reduce(0, +) == 200, "\(what)")
            }
            try await assertAtOnce("one assertion", [try await phone.assertion(keyId)])
            let challenge = try await phone.challenge("assert")
            var bodies: [JSONValue] = []
            for _ in 0..<200 { bodies.append(try await phone.assertion(keyId, challenge: challenge)) }
            try await assertAtOnce("one challenge, many counters", bodies)
            // Two assertions with one counter, each over a challenge of its own.
            let first = try await phone.assertion(keyId)
            let second = try await phone.assertion(keyId, fault: .counterGoesBack)
            try await assertAtOnce("one counter, two challenges", [first, second])
        }
    }

    @Test func modesDecideWhatARefusalDoes() async throws {
        for mode in [Configuration.Mode.monitor, .off] {
            try await RunningService.with(RunningService.configuration { $0.apps[0].mode = mode }) { service in
                let phone = await Phone(service)
                phone.faults.next.withLockedValue { $0 = .otherApp }
                let reply = try await service.post("/v1/apps/shop/attestations", try await phone.attestation().body)
                #expect(reply.status == 200)
                let enforcement = reply["enforcement"]?.members ?? []
                #expect(enforcement.first { $0.name == "decision" }?.value == (mode == .off ? "off" : "refuse"))
                #expect(
                    enforcement.first { $0.name == "code" }?.value
                        == (mode == .off ? JSONValue.null : "attest.app-id.mismatch"))
            }
        }
    }
}
