// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Formats
import Foundation
import Testing
import TrustStores
import Vocabulary

@testable import HTTPService
@testable import TrustService

/// An interface with paths, bodies and errors of its own needs handlers alone: verifier, store, limits and modes are the service's.
@Suite struct OtherInterfaceTests {
    /// `snake_case` members, a verb behind the app, and errors in an object of their own.
    struct Exchange: Handler {
        let apps: AppDirectory
        let modes: ModeAnswers
        let proofs: ProofIntake

        var routes: [Route] {
            [
                Route("exchange", "POST", "/other/apps/{app}:exchange", .app, errors: Exchange.errors, exchange),
                Route("check", "POST", "/other/apps/{app}:check", .app, errors: Exchange.errors, check),
            ]
        }

        static let errors = ErrorForm(under: ["/other/apps"]) { problem, _ in
            var answer = Answer.json(["error": ["reason": .string(problem.code.rawValue)]], status: problem.status)
            answer.code = problem.code
            return answer
        }

        @Sendable private func exchange(_ call: Call) async throws -> Answer {
            let app = try apps.app(call)
            let body = try RequestBody(call.body)
            let presented = PresentedAttestation(
                keyId: try body.keyId(), attestation: try body.bytes("attestation_statement"),
                challenge: try body.bytes("challenge"))
            return try await modes.judged(app, call, keyId: presented.keyId) {
                try await proofs.register(presented, app, call).map { .json(["new_key": .bool($0.isNew)]) }
            }
        }

        @Sendable private func check(_ call: Call) async throws -> Answer {
            _ = try apps.app(call)
            return .empty(204)
        }
    }

    private static func interfaces(_ parts: ServiceParts) -> [any Handler] {
        [Exchange(apps: parts.apps, modes: parts.modes, proofs: parts.proofs)]
    }

    @Test func aKeyOfOneInterfaceServesTheOther() async throws {
        try await RunningService.with(interfaces: OtherInterfaceTests.interfaces) { service in
            let phone = await Phone(service)
            let (keyId, attestation) = try await phone.attestation()
            let members = try #require(attestation.members).map { member in
                JSONValue.Member(member.name == "attestation" ? "attestation_statement" : member.name, member.value)
            }
            let first = try await service.post("/other/apps/shop:exchange", .object(members))
            #expect(first.verdict == "200")
            #expect(first["new_key"] == true)
            // The same object again, here and there: one store knows it.
            #expect(try await service.post("/other/apps/shop:exchange", .object(members))["new_key"] == false)
            #expect(try await service.post("/v1/apps/shop/attestations", attestation).verdict == "200")
            #expect(try await phone.assert(try await phone.assertion(keyId)).verdict == "200")
        }
    }

    private static func reason(_ reply: Reply) -> String? {
        reply["error"]?.members?.first { $0.name == "reason" }?.value.text
    }

    @Test func itsErrorsHaveItsForm() async throws {
        try await RunningService.with(interfaces: OtherInterfaceTests.interfaces) { service in
            let unknown = try await service.post("/other/apps/nobody:exchange", [:])
            #expect(unknown.status == 404)
            #expect(OtherInterfaceTests.reason(unknown) == "app.unknown")
            let challenge = try await Phone(service).challenge("attest")
            let refused = try await service.post(
                "/other/apps/shop:exchange",
                [
                    "keyId": .string(Base64.encode([UInt8](repeating: 1, count: 32))),
                    "attestation_statement": "AAAA", "challenge": .string(Base64.encode(challenge)),
                ]
            )
            #expect(refused.status == 400)
            #expect(OtherInterfaceTests.reason(refused)?.hasPrefix("malformed.") == true)
            // Another verb is another route; what no route knows has the form of whose path it is, by whole segments.
            #expect(try await service.post("/other/apps/shop:check", [:]).status == 204)
            for path in ["/other/apps/shop:else", "/other/apps/:check", "/other/apps", "/other/apps/"] {
                let reply = try await service.post(path, [:])
                #expect(reply.status == 404 && OtherInterfaceTests.reason(reply) == "path.unknown", "\(path)")
            }
            for path in ["/other/appsX", "/other", "/other/%61pps/shop:else", "//other/apps/shop:else"] {
                #expect(try await service.post(path, [:]).verdict == "404 path.unknown", "\(path)")
            }
        }
    }

    @Test func itsAppsHaveTheServicesLimits() async throws {
        let settings = RunningService.configuration { $0.limits.requestsPerSecondPerApp = 1 }
        try await RunningService.with(settings, interfaces: OtherInterfaceTests.interfaces) { service in
            var statuses: Set<Int> = []
            for _ in 0..<6 { statuses.insert(try await service.post("/other/apps/shop:check", [:]).status) }
            #expect(statuses == [204, 429])
            #expect(try await service.post("/v1/apps/shop/challenges", ["purpose": "attest"]).status == 429)
        }
    }
}
