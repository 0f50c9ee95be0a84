// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttestClient
import Foundation
import TestSupport
import Testing

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Where a request with a proof or a token goes if its server sends it elsewhere.
@Suite struct RedirectTests {
    /// One server under two names: each is another host.
    private static let server = """
        import http.server, sys
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                places = {"/away": "http://localhost:%d/here" % self.server.server_port, "/near": "/here"}
                self.send_response(302 if self.path in places else 200)
                if self.path in places: self.send_header("Location", places[self.path])
                self.send_header("Content-Length", "0")
                self.end_headers()
            def log_message(self, *words): pass
        server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
        print(server.server_port, flush=True)
        server.serve_forever()
        """

    @Test func aProofFollowsNoRedirectToAnotherHost() async throws {
        let (process, output) = (Process(), Pipe())
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["python3", "-c", Self.server]
        process.standardOutput = output
        try process.run()
        defer {
            process.terminate()
            process.waitUntilExit()
        }
        let line = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
        let port = try #require(Int(line.filter(\.isNumber)))
        func status(_ path: String) async throws -> Int {
            let url = try #require(URL(string: "http://127.0.0.1:\(port)\(path)"))
            return try await URLSessionTransport(URLSession(configuration: .ephemeral)).send(URLRequest(url: url))
                .status
        }
        #expect(try await status("/near") == 200)
        #expect(try await status("/away") == 302)
    }
}
