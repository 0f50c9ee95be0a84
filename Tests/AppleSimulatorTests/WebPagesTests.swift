// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Logging
import TestSupport
import Testing

@testable import AppleSimulator

/// What a web page in a browser of the same machine gets.
@Suite struct WebPagesTests {
    @Test(
        arguments: [
            ("/control/teams", nil, "127.0.0.1:8900", false),
            ("/control/teams", "https://evil.example", "127.0.0.1:8900", true),
            ("/device/v1/devices", "null", "127.0.0.1:8900", true),
            // A name that somebody lets point here.
            ("/control/teams", "http://evil.example:8900", "evil.example:8900", true),
            ("/control/teams", "http://127.0.0.1:8900", "127.0.0.1:8900", false),
            ("/control/teams", "http://localhost:8900", "localhost:8900", false),
            ("/control/teams", "http://[::1]:8900", "[::1]:8900", false),
            ("/control/teams", "http://127.0.0.1:3000", "127.0.0.1:8900", true),
            ("/control/teams", "http://a", nil, true),
            // Nothing is to be had or changed here.
            ("/openapi.yaml", "https://evil.example", "127.0.0.1:8900", false),
        ] as [(String, String?, String?, Bool)]
    )
    func pagesOfOtherHostsAreKeptOut(_ path: String, _ origin: String?, _ host: String?, _ isOut: Bool) {
        #expect(WebPages.mustNotAsk(path, origin: origin, host: host) == isOut)
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
