// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import Crypto
import DeviceSimulator
import Formats
import Foundation
import NIOConcurrencyHelpers
import TestSupport
import Testing
import TrustStores
import Vocabulary

@testable import HTTPService
@testable import TrustService

/// What the service says of a refused proof: to the app, to a backend, and in its log.
@Suite struct RefusalExplanationTests {
    private static let members = ["expected", "found", "mistake"]

    /// A body for the attestation of a new key whose app passed something else than the hash of the challenge.
    private func attestation(
        _ phone: Phone, passing passed: ([UInt8]) -> [UInt8]
    ) async throws -> (challenge: [UInt8], body: JSONValue) {
        let challenge = try await phone.challenge("attest")
        let keyId = try await phone.device.generateKey(for: phone.app)
        let object = try await phone.device.attestKey(
            keyId, clientDataHash: passed(challenge), for: phone.app, at: phone.service.clock.now)
        return (
            challenge,
            [
                "keyId": .string(keyId), "attestation": .string(Base64.encode(object)),
                "challenge": .string(Base64.encode(challenge)),
            ]
        )
    }

    private static func sha(_ bytes: some Sequence<UInt8>) -> [UInt8] { Array(SHA256.hash(data: Array(bytes))) }

    @Test func aBackendLearnsWhatDiffersAndAnAppDoesNot() async throws {
        let lines = LogLines()
        try await RunningService.with(log: lines.logger) { service in
            let phone = await Phone(service)
            let (challenge, body) = try await attestation(phone) { $0 }
            for token in [RunningService.serverToken, RunningService.adminToken] {
                let reply = try await service.post("/v1/apps/shop/attestations", body, token: token)
                #expect(reply.verdict == "403 attest.nonce.mismatch" || reply.code == "attest.nonce.mismatch")
                #expect(reply["mistake"] == "unhashed")
                let hash = Base64.encode(Self.sha(challenge))
                #expect(reply["expected"]?.member("clientDataHash") == .string(hash))
                #expect(reply["found"]?.member("clientDataHash") == .string(Base64.encode(challenge)))
                #expect(reply["found"]?.member("nonce") != reply["expected"]?.member("nonce"))
            }
            let short = try await service.post("/v1/apps/shop/attestations", body)
            #expect(short.code == "attest.nonce.mismatch")
            for name in Self.members { #expect(short[name] == nil, "\(name)") }
            let wrong = try await service.post(
                "/v1/apps/shop/attestations", body, token: "no token of this service, but as long as one")
            for name in Self.members { #expect(wrong[name] == nil, "\(name)") }
            let logged = lines.all.filter { $0.metadata["code"] == "attest.nonce.mismatch" }
            #expect(logged.count == 4)
            for line in logged {
                #expect(line.metadata["mistake"] == "unhashed")
                #expect(line.metadata["expected"]?.contains(Base64.encode(Self.sha(challenge))) == true)
                // What the app passed is the challenge itself, which may still be spent.
                #expect(!line.metadata.values.contains { $0.contains(Base64.encode(challenge)) })
            }
        }
    }

    @Test func inTheBindingRawNoHashIsLogged() async throws {
        let lines = LogLines()
        let settings = RunningService.configuration { $0.apps[0].binding = .raw }
        try await RunningService.with(settings, log: lines.logger) { service in
            let phone = await Phone(service)
            let (challenge, body) = try await attestation(phone) { Self.sha($0) }
            let reply = try await service.post(
                "/v1/apps/shop/attestations", body, token: RunningService.serverToken)
            #expect(reply.code == "attest.nonce.mismatch" && reply["mistake"] == "hashed-twice")
            #expect(reply["expected"]?.member("clientDataHash") == .string(Base64.encode(challenge)))
            let line = try #require(lines.all.first { $0.metadata["code"] == "attest.nonce.mismatch" })
            #expect(line.metadata["mistake"] == "hashed-twice")
            #expect(line.metadata["expected"]?.contains("clientDataHash") == false)
            #expect(!line.metadata.values.contains { $0.contains(Base64.encode(challenge)) })
        }
    }

    /// Where the bytes stop being an object, and what is there: for a backend, and not for an app.
    @Test func aBackendLearnsWhyAnObjectIsMalformed() async throws {
        try await RunningService.with { service in
            let phone = await Phone(service)
            let (_, body) = try await phone.attestation()
            let object = try #require(body.member("attestation")?.text.flatMap(Base64.decode))
            func sent(_ object: some Sequence<UInt8>) -> JSONValue {
                .object(
                    (body.members ?? []).map {
                        $0.name == "attestation" ? .init("attestation", .string(Base64.encode(Array(object)))) : $0
                    })
            }
            for (bytes, form) in [
                (Array(object.dropLast()), "the input ends inside a string: it was cut off; the byte there is 0x5"),
                ([0xA1, 0xC1, 0], "offset 1: a tag is not allowed; the byte there is 0xc1"),
                ([0xA1], "an array or a map claims 1 elements"),
            ] {
                let reply = try await service.post(
                    "/v1/apps/shop/attestations", sent(bytes), token: RunningService.serverToken)
                #expect(reply.verdict == "400 malformed.cbor" && reply["member"] == "attestation")
                #expect(reply["form"]?.text?.contains(form) == true, "\(reply["form"]?.text ?? "")")
                #expect(reply["wanted"]?.text?.contains("attestKey") == true)
                let short = try await service.post("/v1/apps/shop/attestations", sent(bytes))
                #expect(short.code == "malformed.cbor" && short["form"] == nil && short["member"] == nil)
            }
            // A certificate that is none is part of an object that was read.
            let leaf = try #require(object.firstRange(of: [0x30, 0x82]))
            var changed = object
            changed[leaf.lowerBound] = 0x31
            let certificate = try await service.post(
                "/v1/apps/shop/attestations", sent(changed), token: RunningService.serverToken)
            #expect(certificate.verdict == "400 malformed.certificate" && certificate["member"] == "attestation")
            #expect(certificate["form"]?.text?.hasPrefix("the leaf: ") == true)
            let key = try await phone.attested()
            let good = try await phone.assertion(key)
            let cut = JSONValue.object(
                (good.members ?? []).map { $0.name == "assertion" ? .init("assertion", "oWlz") : $0 })
            let reply = try await service.post("/v1/apps/shop/assertions", cut, token: RunningService.serverToken)
            #expect(reply.verdict == "400 malformed.cbor" && reply["member"] == "assertion")
            #expect(reply["form"]?.text?.hasPrefix("offset 1: ") == true)
        }
    }

    @Test func assertionsAreExplainedOnEveryRouteAndInMonitorMode() async throws {
        try await RunningService.with { service in
            let (phone, key) = try await Phone.attested(service)
            let challenge = try await phone.challenge("assert")
            let data = JSONValue.object([.init("challenge", .string(Base64.encode(challenge)))]).encoded(pretty: false)
            // The app hashed what is signed once more.
            let body = try await phone.signed(key, data, over: Self.sha(data))
            for route in ["assertions", "tokens"] {
                let reply = try await service.post("/v1/apps/shop/\(route)", body, token: RunningService.serverToken)
                #expect(reply.code == "assert.signature.invalid" && reply["mistake"] == "hashed-twice", "\(route)")
                #expect(try await service.post("/v1/apps/shop/\(route)", body)["mistake"] == nil)
            }
            let good = try await phone.assertion(key)
            #expect(try await phone.assert(good).status == 200)
            let old = try await phone.signed(key, data, over: data, fault: .counterGoesBack)
            let replayed = try await service.post(
                "/v1/apps/shop/assertions", old, token: RunningService.serverToken)
            #expect(replayed.code == "assert.counter.replayed" && replayed["mistake"] == .null)
            #expect(replayed["expected"]?.member("counter") == "more than 2")
        }
        let settings = RunningService.configuration { $0.apps[0].mode = .monitor }
        try await RunningService.with(settings) { service in
            let phone = await Phone(service)
            let (_, body) = try await attestation(phone) { Self.sha(Self.sha($0)) }
            let told = try await service.post("/v1/apps/shop/attestations", body, token: RunningService.serverToken)
            #expect(told.status == 200 && told["enforcement"]?.member("mistake") == "hashed-twice")
            let short = try await service.post("/v1/apps/shop/attestations", body)
            #expect(short["enforcement"]?.members?.map(\.name) == ["decision", "code"])
        }
    }

    @Test func whatOnlyTheServiceKnowsIsSaid() async throws {
        let settings = RunningService.configuration { $0.apps[0].binding = .raw }
        try await RunningService.with(settings) { service in
            let phone = await Phone(service)
            let other = try await phone.challenge("attest")
            let (_, body) = try await attestation(phone) { _ in other }
            let reply = try await service.post("/v1/apps/shop/attestations", body, token: RunningService.serverToken)
            #expect(reply.code == "attest.nonce.mismatch" && reply["mistake"] == "other-challenge")
            #expect(reply["found"]?.member("clientDataHash") == .string(Base64.encode(other)))
            // What the service did not issue is no challenge.
            let (_, foreign) = try await attestation(phone) { _ in Array(repeating: 7, count: 64) }
            let unknown = try await service.post(
                "/v1/apps/shop/attestations", foreign, token: RunningService.serverToken)
            #expect(unknown.code == "attest.nonce.mismatch" && unknown["mistake"] == .null)
        }
        try await RunningService.with { service in
            let phone = await Phone(service)
            let keys = [try await phone.attested(user: "ann"), try await phone.attested(user: "ann")]
            let stranger = try await phone.attested(user: "bob")
            for (signer, mistake) in [(keys[1], JSONValue.string("other-key")), (stranger, .null)] {
                let challenge = try await phone.challenge("assert", user: "ann")
                var body = try await phone.assertion(signer, challenge: challenge)
                body =
                    body.members.map { members in
                        .object(members.map { $0.name == "keyId" ? .init("keyId", .string(keys[0])) : $0 })
                    } ?? body
                let reply = try await service.post("/v1/apps/shop/assertions", body, token: RunningService.serverToken)
                #expect(reply.code == "assert.signature.invalid" && reply["mistake"] == mistake, "\(reply.json)")
                if mistake != .null { #expect(reply["found"]?.member("keyId") == .string(keys[1])) }
            }
        }
    }

    @Test func mistakesAreTriedForTwentyInAnySecondAndTheRestIsCounted() async throws {
        let registry = PrometheusRegistry()
        let observer = RequestObserver(registry: registry, log: LogLines().logger)
        let uptime = NIOLockedValueBox(0.0)
        let explainer = RefusalExplainer(observer: observer) { uptime.withLockedValue { $0 } }
        let refusal = ProofRefusal(Refusal(malformed: MalformedInput(code: .malformedCertificate, reason: "short")))
        func explained() async -> Bool {
            let isTried = NIOLockedValueBox(false)
            let answer = await explainer.explained(refusal, loggingHash: true) {
                isTried.withLockedValue { $0 = true }
                return $0
            }
            // What the verifier knows is said in any case.
            #expect(!answer.problem.difference.isEmpty)
            return isTried.withLockedValue { $0 }
        }
        var count = 0
        for _ in 0..<25 where await explained() { count += 1 }
        #expect(count == 20)
        #expect(registry.render().contains("sealward_refusals_unexplained_total 5"))
        // Seven arrive in every eighth of a second, for ten seconds from 1 on.
        var times: [Double] = []
        for eighth in 8..<88 {
            let now = Double(eighth) / 8
            uptime.withLockedValue { $0 = now }
            for _ in 0..<7 where await explained() { times.append(now) }
        }
        #expect(times.count == 200)
        for start in times { #expect(times.count { start..<start + 1 ~= $0 } <= 20) }
        // What no verifier refused has nothing to explain, and costs nothing.
        let other = ProofRefusal(.challengeUsed)
        #expect(await explainer.explained(other, loggingHash: true) { $0 }.problem.difference.isEmpty)
    }
}
