// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import DeviceSimulator
import Formats
import Foundation
import NIOConcurrencyHelpers
import TestSupport
import Testing
import Vocabulary

@testable import TrustService

/// Every code with which anything is refused is one that `sealward explain` knows.
@Suite(.enabled(if: ServeProcess.isBuilt, "needs .build/release/sealward")) struct ExplainedCodesTests {
    /// What was refused, and with which codes.
    private struct Refusals {
        private(set) var count = 0
        private(set) var codes: Set<String> = []

        mutating func take(_ reply: Reply) {
            if reply.status >= 400, let code = reply.code { take(code) }
        }

        mutating func take(_ code: String) {
            count += 1
            codes.insert(code)
        }
    }

    @Test func everyCodeOf300RefusalsIsExplained() async throws {
        var refusals = Refusals()
        // What verifiers say of objects: `VerifierCaseTests` asks ours.
        for code in try VerifierCase.all().compactMap(\.code) { refusals.take(code) }
        refusals = try await RunningService.with { [refusals] (service: RunningService) async throws -> Refusals in
            var refusals = refusals
            try await proofs(service, &refusals)
            try await calls(service, &refusals)
            return refusals
        }
        #expect(refusals.count >= 300)
        #expect(refusals.codes.count >= 50)
        let all = try ProgramRun(ServeProcess.program, ["explain", "--format", "json"]).json["codes"]
        let explained = (all as? [[String: Any]] ?? []).compactMap { $0["code"] as? String }
        #expect(refusals.codes.subtracting(explained).isEmpty)
    }

    /// Proofs that the service refuses: each named fault, and bytes that were changed.
    private func proofs(_ service: RunningService, _ refusals: inout Refusals) async throws {
        let phone = await Phone(service)
        for fault in AttestationFault.allCases {
            phone.faults.next.withLockedValue { $0 = fault }
            guard let (_, body) = try? await phone.attestation() else { continue }
            refusals.take(try await service.post("/v1/apps/shop/attestations", body))
        }
        phone.faults.next.withLockedValue { $0 = nil }
        let keyId = try await phone.attested()
        for fault in AssertionFault.allCases {
            guard let body = try? await phone.assertion(keyId, fault: fault) else { continue }
            refusals.take(try await phone.assert(body))
        }
        let (_, attestation) = try await phone.attestation()
        let assertion = try await phone.assertion(keyId)
        var random = SplitMix(state: 300)
        for (path, body, name) in [
            ("attestations", attestation, "attestation"), ("assertions", assertion, "assertion"),
        ] {
            let object = try #require(body.member(name)?.text.flatMap(Base64.decode))
            for index in 0..<100 {
                var changed = object
                changed[random.below(changed.count)] ^= 1 << UInt8(random.below(8))
                if index % 3 == 0 { changed.removeLast(random.below(changed.count)) }
                let members = (body.members ?? []).map { member in
                    member.name == name ? JSONValue.Member(name, .string(Base64.encode(changed))) : member
                }
                refusals.take(try await service.post("/v1/apps/shop/\(path)", .object(members)))
            }
        }
    }

    /// Calls that nobody may make, or that cannot be read.
    private func calls(_ service: RunningService, _ refusals: inout Refusals) async throws {
        let admin = RunningService.adminToken
        let key = Base64.encodeURL([UInt8](repeating: 9, count: 32))
        for (method, path, body, token) in [
            ("GET", "/nowhere", nil, nil), ("PUT", "/v1/keys", nil, nil), ("GET", "/v1/keys", nil, nil),
            ("GET", "/v1/keys?x=1", nil, admin), ("GET", "/v1/keys/\(key)", nil, admin),
            ("POST", "/v1/keys/\(key)/revoke", nil, admin), ("POST", "/v1/keys/\(key)/restore", nil, admin),
            ("POST", "/v1/secrets/none/rotate", nil, admin), ("GET", "/v1/authorize", nil, nil),
            ("GET", "/v1/authorize", nil, "no token"), ("GET", "/v1/authorize?tier=x", nil, nil),
            ("POST", "/v1/apps/none/challenges", #"{"purpose":"attest"}"#, nil),
            ("POST", "/v1/apps/shop/challenges", #"{"purpose":"x"}"#, nil),
            ("POST", "/v1/apps/shop/challenges", #"{"purpose":"attest","user":"anna"}"#, nil),
            ("POST", "/v1/apps/shop/challenges", "{", nil),
            ("POST", "/v1/apps/shop/tokens/untrusted", #"{"reason":"ramp","challenge":"AAAA"}"#, nil),
            ("POST", "/v1/tokens/consume", #"{"token":"a.b.c"}"#, RunningService.serverToken),
            ("POST", "/v1/promotions/none/claim", #"{"app":"shop"}"#, RunningService.serverToken),
            ("POST", "/v1/apps/shop/promotions/none/claim", "{}", nil),
            ("POST", "/v1/devicecheck/query", #"{"app":"shop","deviceToken":"AAAA","transactionId":"1"}"#, admin),
            ("POST", "/v1/apps/shop/revocations", #"{"user":"anna","expect":7}"#, admin),
            ("POST", "/v1/apps/shop/signals", #"{"kind":"x"}"#, nil),
            ("GET", "/v1/apps/none/ramp?installation=1", nil, nil),
        ] as [(String, String, String?, String?)] {
            refusals.take(
                try await RunningService.call(
                    method, service.base + path, body: body.map { Array($0.utf8) }, token: token))
        }
        refusals.take(
            try await RunningService.call(
                "POST", service.base + "/v1/apps/shop/challenges", body: Array("{}".utf8), type: "text/plain"))
        refusals.take(
            try await RunningService.call(
                "POST", service.base + "/v1/apps/shop/challenges", body: [UInt8](repeating: 32, count: 70_000)))
    }
}
