// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Formats
import Foundation
import Testing
import Vocabulary

@testable import TrustService

@Suite struct HTTPLayerTests {
    /// Two refusals say nothing about what was asked between them.
    @Test func correlationIdsCountNothing() async throws {
        try await RunningService.with { service in
            var ids: [String] = []
            for _ in 0..<20 { ids.append(try await service.get("/nothing")["correlationId"]?.text ?? "") }
            #expect(Set(ids).count == 20 && ids.allSatisfy { $0.utf8.count == 12 }, "\(ids)")
            #expect(Set(ids.map { $0.prefix(6) }).count == 20, "\(ids)")
        }
    }

    @Test func everyErrorIsAProblemDocument() async throws {
        try await RunningService.with { service in
            func expect(_ reply: Reply, _ verdict: String) {
                #expect(reply.verdict == verdict)
                #expect(reply.headers["content-type"] == "application/problem+json")
                #expect(reply["correlationId"]?.text?.isEmpty == false)
                #expect(reply["title"]?.text != nil && reply["type"]?.text != nil)
            }
            let base = service.base
            expect(try await service.get("/nothing"), "404 path.unknown")
            expect(try await service.get("/v1/apps/shop/challenges"), "405 method.not-allowed")
            expect(try await RunningService.call("DELETE", base + "/livez"), "405 method.not-allowed")
            expect(try await service.post("/v1/apps/none/challenges", ["purpose": "attest"]), "404 app.unknown")
            expect(try await service.post("/v1/apps/shop/challenges", ["purpose": "steal"]), "400 request.malformed")
            expect(try await service.post("/v1/apps/shop/challenges", [:]), "400 request.malformed")
            let large = [UInt8](repeating: 0x20, count: 65537)
            expect(
                try await RunningService.call("POST", base + "/v1/apps/shop/assertions", body: large),
                "413 body.too-large")
            expect(
                try await RunningService.call(
                    "POST", base + "/v1/apps/shop/assertions", body: [0x7B], type: "text/plain"),
                "415 body.content-type")
            for body in ["", "{", "[]", "{\"purpose\":\"attest\",\"purpose\":\"attest\"}", "\u{0}"] {
                let reply = try await RunningService.call(
                    "POST", base + "/v1/apps/shop/challenges", body: Array(body.utf8))
                #expect(reply.verdict == "400 request.malformed", "\(body)")
            }
            expect(try await service.get("/v1/apps/shop/risk"), "401 caller.unauthorized")
        }
    }

    @Test func routesWithoutCredentialsAreOff() async throws {
        let configuration = RunningService.configuration {
            $0.serverTokens = nil
            $0.adminTokens = nil
        }
        try await RunningService.with(configuration) { (service) async throws in
            #expect(try await service.post("/v1/tokens/consume", ["token": "x"]).verdict == "404 path.unknown")
            #expect(try await service.get("/v1/apps/shop/risk", token: "x").verdict == "404 path.unknown")
            #expect(try await service.get("/livez").status == 200)
            #expect(try await service.get("/readyz").status == 200)
            // On loopback the metrics need no token.
            #expect(try await service.get("/metrics").status == 200)
        }
    }

    @Test func anInternalListenerTakesTheOperatorsRoutes() async throws {
        let configuration = RunningService.configuration {
            $0.internalListen = ListenAddress(host: "127.0.0.1", port: 0)
        }
        try await RunningService.with(configuration) { service in
            let inside = try #require(service.internalBase)
            #expect(
                try await service.get("/v1/apps/shop/risk", token: RunningService.adminToken).verdict
                    == "404 path.unknown")
            #expect(try await service.get("/metrics").verdict == "404 path.unknown")
            #expect(
                try await RunningService.call("GET", inside + "/v1/apps/shop/risk", token: RunningService.adminToken)
                    .status == 200)
            #expect(try await RunningService.call("GET", inside + "/metrics").status == 200)
        }
    }

    @Test func limitsAnswerWithRetryAfter() async throws {
        let configuration = RunningService.configuration { $0.limits.requestsPerSecondPerAddress = 2 }
        try await RunningService.with(configuration) { service in
            var limited: Reply?
            for _ in 0..<20 where limited == nil {
                let reply = try await service.post("/v1/apps/shop/challenges", ["purpose": "assert"])
                if reply.status == 429 { limited = reply }
            }
            let reply = try #require(limited)
            #expect(reply.code == "limit.address")
            #expect(reply["retry"]?.text == "after")
            #expect(Int(reply.headers["retry-after"] ?? "") ?? 0 >= 1)
            // Health and servers are never limited.
            #expect(try await service.get("/livez").status == 200)
            let server = try await service.post(
                "/v1/apps/shop/challenges", ["purpose": "assert"], token: RunningService.serverToken)
            #expect(server.status == 201)
        }
    }

    @Test func signalsAreCountedByAddress() async throws {
        try await RunningService.with { service in
            for _ in 0..<3 {
                let reply = try await service.post(
                    "/v1/apps/shop/signals", ["kind": "unsupported", "code": "unsupported", "osVersion": "17.1"])
                #expect(reply.status == 202)
            }
            #expect(try await service.post("/v1/apps/shop/signals", ["kind": "gossip"]).status == 400)
            #expect(
                try await service.post("/v1/apps/shop/signals", ["kind": "clientError", "code": "my poem"]).status
                    == 400)
            let risk = try await service.get("/v1/apps/shop/risk", token: RunningService.adminToken)
            let unsupported = risk["unsupported"]?.members ?? []
            #expect(unsupported.first { $0.name == "addresses" }?.value == .integer(1))
        }
    }

    @Test func anInstallationKeepsItsPlaceInTheRamp() async throws {
        let configuration = RunningService.configuration {
            $0.apps[0].ramp = Configuration.Ramp()
            $0.apps[0].ramp?.percent = 30
        }
        try await RunningService.with(configuration) { service in
            var admitted = 0
            for index in 0..<200 {
                let path = "/v1/apps/shop/ramp?installation=device%20\(index)"
                let first = try await service.get(path)
                #expect(first["attest"] == (try await service.get(path))["attest"])
                if first["attest"] == .bool(true) { admitted += 1 }
            }
            #expect((35...85).contains(admitted))
            #expect(try await service.get("/v1/apps/shop/ramp").verdict == "400 request.malformed")
        }
    }
}
