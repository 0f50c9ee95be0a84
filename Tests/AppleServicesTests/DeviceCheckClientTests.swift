// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppleServices
import DeviceCheckBits
import Foundation
import Testing
import Vocabulary

@Suite struct DeviceCheckClientTests {
    private let team = Team()
    private let bits = #"{"bit0":true,"bit1":false,"last_update_time":"2026-10"}"#

    private func client(_ transport: ScriptedTransport) async throws -> DeviceCheckClient {
        DeviceCheckClient(
            transport: transport, authorization: try await team.authorization(),
            endpoint: try #require(AppleEndpoint("https://bits.test")))
    }

    @Test func queryIsAuthorizedAsBearer() async throws {
        let transport = ScriptedTransport(AppleAnswer(200, bits))
        let state = try await client(transport).query(deviceToken: "AAAA", transactionId: "t", at: team.instant)
        #expect(state.bits == BitPair(bit0: true, bit1: false))
        let request = try #require(await transport.sent.first)
        #expect(request.url == "https://bits.test/v1/query_two_bits")
        let value = try #require(request.headers.first { $0.name == "Authorization" }?.value)
        #expect(value.hasPrefix("Bearer "))
        #expect(try team.open(String(value.dropFirst(7))) != nil)
    }

    @Test func readModifyWriteKeepsTheOtherBitAndSpendsTwoTokens() async throws {
        let transport = ScriptedTransport(AppleAnswer(200, bits), AppleAnswer(200))
        let result = try await client(transport).readModifyWrite(
            readToken: "AAAA", writeToken: "BBBB", transactionId: "t", at: team.instant
        ) { state throws(DeviceCheckFault) in
            var bits = state.bits
            bits.bit1 = true
            return bits
        }
        #expect(result.written == BitPair(bit0: true, bit1: true))
        let bodies = await transport.sent.map { String(decoding: $0.body, as: UTF8.self) }
        #expect(bodies.count == 2)
        #expect(bodies[0].contains("AAAA") && bodies[1].contains("BBBB"))
        #expect(bodies[1].contains(#""bit0":true"#) && bodies[1].contains(#""bit1":true"#))
    }

    @Test func nothingIsWrittenWhereTheChangeSaysNo() async throws {
        let transport = ScriptedTransport(AppleAnswer(200, "Bit State Not Found"))
        let result = try await client(transport).readModifyWrite(
            readToken: "AAAA", writeToken: "BBBB", transactionId: "t", at: team.instant
        ) { _ throws(DeviceCheckFault) in nil }
        #expect(result.before == .neverSet && result.written == nil)
        #expect(await transport.sent.count == 1)
    }

    @Test(arguments: [AppleAnswer(401), AppleAnswer(400, "Missing or badly formatted authorization token")])
    func aRefusedAuthorizationIsRenewedOnce(refusal: AppleAnswer) async throws {
        let healed = ScriptedTransport(refusal, AppleAnswer(200))
        try await client(healed).validate(deviceToken: "AAAA", transactionId: "t", at: team.instant)
        #expect(await healed.sent.count == 2)

        let refused = ScriptedTransport(refusal, refusal, AppleAnswer(200))
        await #expect(throws: DeviceCheckFault(code: "devicecheck.authorization.refused", reason: "")) {
            try await client(refused).validate(deviceToken: "AAAA", transactionId: "t", at: team.instant)
        }
        #expect(await refused.sent.count == 2)
    }

    @Test func faultsAreNotRepeated() async throws {
        let throttled = ScriptedTransport(AppleAnswer(429, "", ["retry-after": "9"]), AppleAnswer(200))
        let fault = await #expect(throws: DeviceCheckFault.self) {
            try await client(throttled).update(.clear, deviceToken: "AAAA", transactionId: "t", at: team.instant)
        }
        #expect(fault?.advice == .later(seconds: 9))
        #expect(await throttled.sent.count == 1)

        let dead = ScriptedTransport([.failure(AppleTransportFault(code: "apple.unreachable", reason: "refused"))])
        let silence = await #expect(throws: DeviceCheckFault.self) {
            try await client(dead).query(deviceToken: "AAAA", transactionId: "t", at: team.instant)
        }
        #expect(silence?.code == "devicecheck.unavailable")
    }

    @Test func aBadTokenNeverLeaves() async throws {
        let transport = ScriptedTransport(AppleAnswer(200))
        await #expect(throws: DeviceCheckFault.tokenInvalid) {
            try await client(transport).query(deviceToken: "not base64!", transactionId: "t", at: team.instant)
        }
        #expect(await transport.sent.isEmpty)
    }
}
