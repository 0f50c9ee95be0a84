// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Logging
import TestSupport
import Testing

@testable import AppleSimulator

/// What a web page in a browser of the same machine gets.
@Suite struct WebPagesTests {
    /// The status of a GET with these headers.
    private static func status(_ path: String, port: Int, _ headers: [String]) throws -> String {
        let client = try LoopbackClient(port: port, limit: 10)
        client.send((["GET \(path) HTTP/1.1", "Connection: close"] + headers).joined(separator: "\r\n") + "\r\n\r\n")
        return String(client.readAll().split(separator: " ").dropFirst().first ?? "")
    }

    @Test func pagesOfOtherSitesGetNothingOnAnyPath() async throws {
        try await SimulatorOnAPort.with { (_, port) async throws -> Void in
            let here = "Host: 127.0.0.1:\(port)"
            for path in ["/control/state", "/openapi.yaml", "/roots/receipt.pem"] {
                for (headers, status) in [
                    ([here], "200"), (["Host: localhost:\(port)"], "200"),
                    // A name that somebody lets point here.
                    (["Host: evil.example:\(port)"], "421"), ([here, "Origin: https://evil.example"], "403"),
                    ([here, "Sec-Fetch-Site: cross-site"], "403"), ([here, "Sec-Fetch-Site: same-site"], "403"),
                    ([here, "Origin: http://127.0.0.1:\(port)"], "200"),
                ] {
                    #expect(try Self.status(path, port: port, headers) == status, "\(path) \(headers)")
                }
            }
        }
    }

    @Test func aConfiguredNameIsAnswered() async throws {
        try await SimulatorOnAPort.with(hosts: ["simulator"]) { (_, port) async throws -> Void in
            #expect(try Self.status("/control/state", port: port, ["Host: simulator:\(port)"]) == "200")
            #expect(try Self.status("/control/state", port: port, ["Host: other:\(port)"]) == "421")
        }
    }

    @Test func theServerAnswers403AndRegistersNothing() async throws {
        try await SimulatorOnAPort.with { (base, _) async throws -> Void in
            let team = Array(#"{"teamId":"EVIL000001","keyId":"EVIL000001"}"#.utf8)
            let refused = try await HTTPCall(
                "POST", base + "/control/teams", body: team,
                headers: ["Origin": "https://evil.example", "Content-Type": "text/plain"])
            #expect(refused.status == 403)
            #expect(String(decoding: refused.body, as: UTF8.self).contains("a web page may not ask this"))
            let state = try await HTTPCall("GET", base + "/control/state")
            #expect(state.status == 200 && !String(decoding: state.body, as: UTF8.self).contains("EVIL000001"))
            #expect(try await HTTPCall("POST", base + "/control/teams", body: team).status < 300)
        }
    }
}
