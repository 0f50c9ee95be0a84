// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import NIOConcurrencyHelpers
import NIOCore
import TLSProbe
import Testing

@testable import ATSClient

/// NTLM and Negotiate authenticate the connection: what comes next on it has the rights of whoever sent the ticket (RFC 4559 section 6).
struct BoundConnectionTests {
    /// Answers each request, and counts connections.
    private static func serving(
        _ fields: String = "", _ body: @escaping @Sendable (Int, NIOLockedValueBox<Int>) async throws -> Void
    ) async throws {
        let script = ScriptedServer.Script([.text("HTTP/1.1 200 OK\r\n\(fields)Content-Length: 2\r\n\r\nok")])
        let count = NIOLockedValueBox(0)
        try await RawServer.with({
            count.withLockedValue { $0 += 1 }
            return ScriptedServer(script)
        }) { try await body($0.port, count) }
    }

    @Test(
        "The client gives no connection back on which such a scheme was seen",
        arguments: [
            ("Negotiate YIIabc=", "", true), ("nTLM TlRM", "", true), ("NTLM", "", true),
            (" Negotiate\u{E9}", "", true),
            ("", "WWW-Authenticate: Basic realm=\"a\", NEGOTIATE\r\n", true),
            ("", "Proxy-Authenticate: NTLM\r\n", true),
            ("", "", false), ("Basic bmVnb3RpYXRl", "WWW-Authenticate: Digest realm=\"ntlm\"\r\n", false),
        ])
    func client(authorization: String, fields: String, isBound: Bool) async throws {
        try await Self.serving(fields) { port, count in
            let policy = try Fixture.policy("{\"NSAllowsArbitraryLoads\":true}")
            let client = ATSClient(policy: policy, trust: TrustAnchors())
            var request = HTTPRequest(method: .get, scheme: "http", authority: "127.0.0.1:\(port)", path: "/")
            if !authorization.isEmpty { request.headerFields[.authorization] = authorization }
            for _ in 0..<10 { _ = try await client.execute(request).body.collect(upTo: 10) }
            let opened = count.withLockedValue { $0 }
            #expect(isBound ? opened == 10 : opened < 10, "\(opened)")
            await client.shutDown(grace: .zero)
        }
    }

    @Test("The proxy gives nobody the connection of another client, or of an earlier request")
    func proxy() async throws {
        try await Self.serving { port, count in
            try await RunningProxy.plain { running in
                for fields in ["Authorization: Negotiate TICKET\r\n", "", ""] {
                    let get = "GET http://127.0.0.1:\(port)/ HTTP/1.1\r\nHost: up\r\n\(fields)"
                    let answer = try await running.exchange("\(get)\r\n\(get)Connection: close\r\n\r\n")
                    #expect(answer.components(separatedBy: "200 OK").count == 3, "\(answer)")
                }
                #expect(count.withLockedValue { $0 } == 6)
                #expect(await running.becomesEmpty(within: .seconds(60)))
                #expect(running.proxy.client.openConnections == 0)
            }
        }
    }
}
