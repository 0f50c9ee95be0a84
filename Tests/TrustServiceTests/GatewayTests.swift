// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Findings
import Foundation
import Glibc
import Testing

@testable import TrustService

private let nginxProgram = ["/usr/sbin/nginx", "/usr/bin/nginx"].first {
    FileManager.default.isExecutableFile(atPath: $0)
}

/// The recipe of the documentation: nginx asks the service about each request, in front of a small backend.
@Suite(.enabled(if: nginxProgram != nil, "needs the program nginx")) struct GatewayTests {
    @Test func nginxLetsOnlyTokensThrough() async throws {
        let folder = try ServeProcess.folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        try await RunningService.with { (service: RunningService) async throws -> Void in
            let phone = await Phone(service)
            let keyId = try await phone.attested()
            let token = try #require(
                try await service.post("/v1/apps/shop/tokens", try await phone.assertion(keyId))["token"]?.text
            )
            let single = try #require(
                try await service.post(
                    "/v1/apps/shop/tokens",
                    try await phone.assertion(keyId).adding([.init("singleUse", true)])
                )["token"]?.text
            )
            let (port, backend) = (Int.random(in: 20000..<30000), Int.random(in: 30000..<40000))
            let configuration = """
                daemon off; pid \(folder.path)/pid; error_log \(folder.path)/error.log;
                events {}
                http {
                  access_log off; client_body_temp_path \(folder.path)/b; proxy_temp_path \(folder.path)/p;
                  fastcgi_temp_path \(folder.path)/f; uwsgi_temp_path \(folder.path)/u; scgi_temp_path \(folder.path)/s;
                  server { listen 127.0.0.1:\(backend); location / { return 200 "backend $http_x_sealward_key"; } }
                  server {
                    listen 127.0.0.1:\(port);
                    location / {
                      auth_request /authorize;
                      auth_request_set $sealward_key $upstream_http_x_sealward_key;
                      proxy_set_header X-Sealward-Key $sealward_key;
                      proxy_pass http://127.0.0.1:\(backend);
                    }
                    location = /authorize {
                      internal;
                      proxy_pass \(service.base)/v1/authorize?simulated=allow;
                      proxy_pass_request_body off;
                      proxy_set_header Content-Length "";
                    }
                  }
                }
                """
            let file = folder.appendingPathComponent("nginx.conf")
            try Data(configuration.utf8).write(to: file)
            let process = Process()
            process.executableURL = URL(fileURLWithPath: nginxProgram ?? "")
            process.arguments = ["-c", file.path, "-p", folder.path, "-e", folder.path + "/error.log"]
            process.standardError = FileHandle.nullDevice
            try process.run()
            defer {
                kill(process.processIdentifier, SIGTERM)
                process.waitUntilExit()
            }
            let gateway = "http://127.0.0.1:\(port)/anything"
            let deadline = ContinuousClock.now + .seconds(10)
            while (try? await RunningService.call("GET", gateway)) == nil, ContinuousClock.now < deadline {
                try await Task.sleep(for: .milliseconds(50))
            }
            #expect(try await RunningService.call("GET", gateway).status == 401)
            #expect(try await RunningService.call("GET", gateway, token: token + "x").status == 401)
            #expect(try await RunningService.call("GET", gateway, token: single).status == 401)
            let passed = try await RunningService.call("GET", gateway, token: token)
            #expect(passed.status == 200)
            #expect(String(decoding: passed.body, as: UTF8.self) == "backend \(keyId)")
            let revoke = "/v1/keys/" + Base64.encodeURL(try #require(Base64.decode(keyId))) + "/revoke"
            _ = try await RunningService.call("POST", service.base + revoke, token: RunningService.adminToken)
            #expect(try await RunningService.call("GET", gateway, token: token).status == 403)
        }
    }
}
