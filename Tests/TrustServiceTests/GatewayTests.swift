// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Formats
import Foundation
import TestSupport
import Testing
import Vocabulary

@testable import TrustService

/// nginx asks the service about each request, in front of a small backend. The whole recipe is run by `Examples/gateways/check`.
@Suite(.enabled(if: NginxServer.isAvailable, "needs the program nginx")) struct GatewayTests {
    /// The core of `Examples/gateways/nginx/nginx.conf`, with a backend that says which headers it got. The backend listens on a path, so that
    /// there is one port to find free.
    private func gateway(_ service: RunningService, _ query: String) async throws -> NginxServer {
        try await NginxServer { port, folder in
            """
            server {
              listen unix:\(folder)/backend;
              location / {
                return 200 "$http_x_sealward_app|$http_x_sealward_environment|$http_x_sealward_key|$http_x_sealward_tier";
              }
            }
            server {
              listen 127.0.0.1:\(port);
              location / {
                auth_request /authorize;
                auth_request_set $sealward_app $upstream_http_x_sealward_app;
                auth_request_set $sealward_environment $upstream_http_x_sealward_environment;
                auth_request_set $sealward_key $upstream_http_x_sealward_key;
                auth_request_set $sealward_tier $upstream_http_x_sealward_tier;
                proxy_set_header X-Sealward-App $sealward_app;
                proxy_set_header X-Sealward-Environment $sealward_environment;
                proxy_set_header X-Sealward-Key $sealward_key;
                proxy_set_header X-Sealward-Tier $sealward_tier;
                proxy_pass http://unix:\(folder)/backend;
              }
              location = /authorize {
                internal;
                proxy_pass \(service.base)/v1/authorize?simulated=allow\(query);
                proxy_pass_request_body off;
                proxy_set_header Content-Length "";
              }
            }
            """
        }
    }

    @Test func nginxLetsOnlyTokensThrough() async throws {
        try await RunningService.with { service in
            let (phone, keyId) = try await Phone.attested(service)
            let token = try await phone.token(keyId)
            let single = try await phone.token(keyId, singleUse: true)
            let nginx = try await gateway(service, "")
            let address = "http://127.0.0.1:\(nginx.port)/anything"
            #expect(try await RunningService.call("GET", address).status == 401)
            #expect(try await RunningService.call("GET", address, token: token + "x").status == 401)
            #expect(try await RunningService.call("GET", address, token: single).status == 403)
            let passed = try await RunningService.call("GET", address, token: token)
            #expect(passed.status == 200)
            #expect(String(decoding: passed.body, as: UTF8.self).contains("|\(keyId)|"))
            _ = try await service.revoke(keyId)
            #expect(try await RunningService.call("GET", address, token: token).status == 403)
        }
    }

    @Test func anotherAppsTokenAndForgedHeadersGetNowhere() async throws {
        try await RunningService.with(AuthorizationTests.configuration()) { service in
            let shop = try await AuthorizationTests.token(service, "shop", RunningService.app)
            let bank = try await AuthorizationTests.token(service, "bank", AuthorizationTests.bank)
            let nginx = try await gateway(service, "&app=shop")
            let address = "http://127.0.0.1:\(nginx.port)/anything"
            #expect(try await RunningService.call("GET", address, token: bank).status == 403)
            // What a client adds to its own address is not part of the gateway's question.
            #expect(try await RunningService.call("GET", address + "?app=bank", token: bank).status == 403)
            let forged = [
                "X-Sealward-App": "forged", "X-Sealward-Environment": "forged", "X-Sealward-Key": "forged",
                "X-Sealward-Tier": "forged", "x-sealward-key": "forged",
            ]
            #expect(try await RunningService.call("GET", address, headers: forged).status == 401)
            let passed = try await RunningService.call("GET", address, token: shop, headers: forged)
            let text = String(decoding: passed.body, as: UTF8.self)
            #expect(passed.status == 200 && !text.contains("forged"))
            #expect(text.hasPrefix("TEAM123456.com.example.shop|production|"))
        }
    }
}
