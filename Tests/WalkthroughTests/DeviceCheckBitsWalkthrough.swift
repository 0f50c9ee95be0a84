// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppleServices
import DeviceCheckBits
import Foundation
import Testing

@Test func `DeviceCheckBits: a promotion that each device gets once`() throws {
    // walkthrough: DeviceCheckBits rule
    let registry = try BitRegistry([BitMeaning(bit: .zero, name: "free-trial", resetAfterMonths: 12)])
    guard let rule = PromotionRule("free-trial", in: registry) else { return }
    let month = YearMonth(containing: Date())
    switch rule.decide(.neverSet, now: month) {
    case .grant(let bits, let firstClaim): print("write", bits, firstClaim)
    case .refuse: print("claimed before")
    }
    // end
    #expect(rule.decide(.neverSet, now: month) == .grant(write: BitPair(bit0: true, bit1: false), firstClaim: true))
    let claimed = DeviceBitState.set(BitPair(bit0: true, bit1: false), lastUpdate: month)
    #expect(rule.decide(claimed, now: month) == .refuse)
}

/// A transport that answers by itself: the seam for tests of one's own.
private struct Canned: AppleTransport {
    func send(_ request: AppleRequest) async throws -> AppleAnswer {
        #expect(request.url.hasSuffix("/v1/query_two_bits") && request.headers.contains { $0.name == "Authorization" })
        return AppleAnswer(status: 200, body: Array(#"{"bit0":true,"bit1":false,"last_update_time":"2026-10"}"#.utf8))
    }
}

@Test func `AppleServices: DeviceCheck asked over a transport of one's own`() async throws {
    let transport = Canned()
    let pem = P256Key.pem
    // walkthrough: AppleServices query
    let authorization = try await AppleAuthorization(teamId: "ABCDE12345", keyId: "KEY1234567", privateKeyPEM: pem)
    let client = DeviceCheckClient(transport: transport, authorization: authorization, endpoint: .deviceCheck)
    let state = try await client.query(deviceToken: "AAAA", transactionId: UUID().uuidString, at: Date())
    print(state.bits, state.lastUpdate.map(\.description) ?? "never set")
    // end
    #expect(state.bits == BitPair(bit0: true, bit1: false) && state.lastUpdate == YearMonth("2026-10"))
}
