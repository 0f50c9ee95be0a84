// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppleSimulator
import Foundation
import Testing

@Test func `AppleSimulator: Apple's side without a port`() async throws {
    // walkthrough: AppleSimulator answer
    let apple = try AppleSimulator()
    let query = #"{"device_token": "AAAA", "transaction_id": "1", "timestamp": 1700000000000}"#
    let answer = await apple.answer(
        SimulatorRequest(method: "POST", path: "/v1/query_two_bits", body: Array(query.utf8)), wall: Date())
    // 400 and Apple's text for a request without an authorization.
    print(answer.status, String(decoding: answer.body, as: UTF8.self))
    // end
    #expect(answer.status == 400)
    #expect(String(decoding: answer.body, as: UTF8.self) == "Missing or badly formatted authorization token")
}
