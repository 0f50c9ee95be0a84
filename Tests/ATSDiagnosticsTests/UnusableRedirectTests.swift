// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ATSDiagnostics
import AppTransportSecurity
import PropertyLists
import TestSupport
import Testing
import Vocabulary

/// A redirect that no dictionary can allow fails the check as it fails the load.
@Suite(.enabled(if: NginxServer.isAvailable, "nginx is needed")) struct UnusableRedirectTests {
    @Test(arguments: [
        "file:///etc/hostname", "ftp://127.0.0.1/", "data:text/plain,x", "javascript:void(0)", "http:///",
        "http://[", "blob:x",
    ])
    func theCheckFails(_ location: String) async throws {
        let server = try await NginxServer { port, _ in
            """
            server {
                listen 127.0.0.1:\(port);
                location = /good { return 302 http://127.0.0.1:\(port)/end; }
                location = /end { return 200 ok; }
                location / { add_header Location "\(location)" always; return 302; }
            }
            """
        }
        var configuration = CheckSession.Configuration()
        configuration.appDictionary = ATSDictionary(.dictionary(["NSAllowsArbitraryLoads": .boolean(true)]))
        let session = try CheckSession(configuration)
        let good = await session.check(try CheckTarget("http://127.0.0.1:\(server.port)/good"))
        #expect(good.decisive?.result == .pass, "\(good.decisive?.because ?? [])")
        let bad = await session.check(try CheckTarget("http://127.0.0.1:\(server.port)/bad"))
        #expect(bad.decisive?.result == .fail)
        #expect(bad.decisive?.because.first?.code == .httpRedirectBlocked, "\(bad.decisive?.because ?? [])")
        #expect([-1002, -1011].contains(bad.decisive?.error?.code ?? 0), "\(String(describing: bad.decisive?.error))")
        #expect(!bad.results.contains { $0.result == .pass })
    }
}
