// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppleServices
import Foundation
import Testing
import Vocabulary

@Suite struct ReceiptRefreshClientTests {
    private let team = Team()

    private func refresh(_ transport: ScriptedTransport) async throws -> ReceiptRefreshOutcome {
        let client = ReceiptRefreshClient(
            transport: transport, authorization: try await team.authorization(),
            endpoint: try #require(AppleEndpoint("https://data.test")))
        return try await client.refresh([1, 2, 3], at: team.instant)
    }

    @Test func sendsTheReceiptAsBase64WithTheBareToken() async throws {
        let transport = ScriptedTransport(AppleAnswer(200, "BAUG"))
        #expect(try await refresh(transport) == .renewed([4, 5, 6]))
        let request = try #require(await transport.sent.first)
        #expect(request.method == "POST")
        #expect(request.url == "https://data.test/v1/attestationData")
        #expect(request.body == Array("AQID".utf8))
        let token = try #require(request.headers.first { $0.name == "Authorization" }?.value)
        #expect(try team.open(token) != nil)
    }

    @Test(arguments: [
        (AppleAnswer(200, "BAUG\n"), ReceiptRefreshOutcome.renewed([4, 5, 6])),
        (AppleAnswer(304, "BAUG"), .notModified),
        (AppleAnswer(400, "Incorrect Environment"), .wrongEnvironment),
        (AppleAnswer(400, "Bad Payload"), .badPayload),
        (AppleAnswer(400, ""), .badPayload),
        (AppleAnswer(404, "No Data Found"), .noData),
        (AppleAnswer(429, "Too Many Requests", ["retry-after": "17"]), .throttled(retryAfterSeconds: 17)),
        (AppleAnswer(429, "", ["retry-after": "Sat, 21 Nov 2026"]), .throttled(retryAfterSeconds: nil)),
        (AppleAnswer(500, "Internal Server Error"), .unavailable(status: 500, retryAfterSeconds: nil)),
        (AppleAnswer(503, "", ["retry-after": "5"]), .unavailable(status: 503, retryAfterSeconds: 5)),
    ])
    func everyStatusOfAppleHasItsOutcome(answer: AppleAnswer, outcome: ReceiptRefreshOutcome) async throws {
        #expect(try await refresh(ScriptedTransport(answer)) == outcome)
    }

    @Test(arguments: [
        AppleAnswer(200, "<html>"), AppleAnswer(200, ""), AppleAnswer(302, "", ["location": "https://other.test/"]),
        AppleAnswer(201, "BAUG"), AppleAnswer(200, String(repeating: "A", count: 65_540)),
    ])
    func whatAppleDoesNotDocumentIsUnusable(answer: AppleAnswer) async throws {
        let transport = ScriptedTransport(answer)
        guard case .unusable(let status, _) = try await refresh(transport) else {
            Issue.record("expected an unusable answer")
            return
        }
        #expect(status == answer.status)
        #expect(await transport.sent.count == 1)
    }

    @Test func aRefusedAuthorizationIsRenewedOnce() async throws {
        let healed = ScriptedTransport(AppleAnswer(401), AppleAnswer(200, "BAUG"))
        #expect(try await refresh(healed) == .renewed([4, 5, 6]))
        let tokens = await healed.sent.compactMap { $0.headers.first { $0.name == "Authorization" }?.value }
        #expect(Set(tokens).count == 2)

        let refused = ScriptedTransport(AppleAnswer(401), AppleAnswer(401), AppleAnswer(200, "BAUG"))
        #expect(try await refresh(refused) == .unauthorized)
        #expect(await refused.sent.count == 2)
    }

    @Test func noAnswerIsUnavailable() async throws {
        let transport = ScriptedTransport([.failure(AppleTransportFault(code: "apple.unreachable", reason: "refused"))])
        #expect(try await refresh(transport) == .unavailable(status: nil, retryAfterSeconds: nil))
    }
}
