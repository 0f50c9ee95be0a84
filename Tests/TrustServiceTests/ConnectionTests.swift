// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Findings
import Foundation
import Testing

@testable import TrustService

@Suite struct ConnectionTests {
    private func port(_ service: RunningService) throws -> Int {
        try #require(URL(string: service.base)?.port)
    }

    @Test func halfClosedRequestsAreAnswered() async throws {
        try await RunningService.with { (service: RunningService) async throws -> Void in
            let connection = try RawConnection(port: try port(service))
            connection.send("GET /livez HTTP/1.1\r\nHost: x\r\n\r\n")
            connection.finishSending()
            let whole = await connection.answer()
            #expect(whole.hasPrefix("HTTP/1.1 200"))
            let early = try RawConnection(port: try port(service))
            early.send("POST /v1/apps/shop/assertions HTTP/1.1\r\nHost: x\r\nContent-Length: 500\r\n\r\n{")
            early.finishSending()
            let answer = await early.answer()
            #expect(answer.isEmpty || answer.hasPrefix("HTTP/1.1 4"))
        }
    }

    @Test(arguments: [
        "NONSENSE\r\n\r\n", "GET / HTTP/9.9\r\n\r\n", "GET /livez HTTP/1.1\r\nHost: x\r\nContent-Length: abc\r\n\r\n",
        "\u{0}\u{1}\u{2}\r\n\r\n",
    ])
    func unreadableRequestsGetAProblemOrAreClosed(_ text: String) async throws {
        try await RunningService.with { (service: RunningService) async throws -> Void in
            let connection = try RawConnection(port: try port(service))
            connection.send(text)
            let answer = await connection.answer()
            #expect(answer.isEmpty || answer.hasPrefix("HTTP/1.1 4") || answer.hasPrefix("HTTP/1.0 4"), "\(answer)")
            #expect(answer.isEmpty || answer.contains("application/problem+json"))
            #expect(try await service.get("/livez").status == 200)
        }
    }

    @Test func oversizedBodiesAreRefusedBeforeTheyArrive() async throws {
        try await RunningService.with { (service: RunningService) async throws -> Void in
            let connection = try RawConnection(port: try port(service))
            connection.send(
                "POST /v1/apps/shop/assertions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 999999999\r\n\r\n{"
            )
            let answer = await connection.answer()
            #expect(answer.hasPrefix("HTTP/1.1 413"))
        }
    }
}
