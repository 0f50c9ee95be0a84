// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Findings
import Foundation
import TestSupport
import Testing

@testable import TrustService

/// The recipe of the documentation: nginx asks the service about each request, in front of a small backend.
@Suite(.enabled(if: NginxServer.isAvailable, "needs the program nginx")) struct GatewayTests {
    @Test func nginxLetsOnlyTokensThrough() async throws {
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
            // The backend listens on a path, so that there is one port to find free.
            let nginx = try await NginxServer { port, folder in
                """
                server { listen unix:\(folder)/backend; location / { return 200 "backend $http_x_sealward_key"; } }
                server {
                  listen 127.0.0.1:\(port);
                  location / {
                    auth_request /authorize;
                    auth_request_set $sealward_key $upstream_http_x_sealward_key;
                    proxy_set_header X-Sealward-Key $sealward_key;
                    proxy_pass http://unix:\(folder)/backend;
                  }
                  location = /authorize {
                    internal;
                    proxy_pass \(service.base)/v1/authorize?simulated=allow;
                    proxy_pass_request_body off;
                    proxy_set_header Content-Length "";
                  }
                }
                """
            }
            let gateway = "http://127.0.0.1:\(nginx.port)/anything"
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
