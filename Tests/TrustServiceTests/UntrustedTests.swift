// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import DeviceSimulator
import Formats
import Foundation
import NIOConcurrencyHelpers
import TLSModel
import TestSupport
import Testing
import TrustStores
import Vocabulary

@testable import TrustService

/// Tokens of callers that cannot attest.
@Suite struct UntrustedTests {
    private func configuration(_ change: (inout Configuration) -> Void = { _ in }) -> Configuration {
        RunningService.configuration {
            $0.apps[0].untrusted = .allow
            change(&$0)
        }
    }

    private func ask(
        _ service: RunningService, reason: String = "unsupported", purpose: String = "assert",
        from address: String? = nil
    ) async throws -> Reply {
        let challenge = try await Phone(service).challenge(purpose)
        return try await service.post(
            "/v1/apps/shop/tokens/untrusted",
            ["reason": .string(reason), "challenge": .string(Base64.encode(challenge))],
            headers: address.map { ["X-Forwarded-For": $0] } ?? [:])
    }

    @Test func noTokenUnlessTheAppAllowsIt() async throws {
        try await RunningService.with(RunningService.configuration()) { (service) async throws in
            #expect(try await ask(service).verdict == "403 policy.untrusted")
        }
    }

    @Test(arguments: ["unsupported", "extension", "simulator", "ramp"])
    func theTokenPassesOnlyWhereNoTierIsAskedFor(_ reason: String) async throws {
        try await RunningService.with(configuration()) { service in
            let reply = try await ask(service, reason: reason, purpose: reason == "ramp" ? "attest" : "assert")
            #expect(reply["reasons"] == .array([.string(reason)]))
            let token = try #require(reply["token"]?.text)
            for (query, verdict) in [
                ("?tier=none", "204"), ("", "403 policy.tier"), ("?tier=low", "403 policy.tier"),
                ("?tier=high", "403 policy.tier"), ("?tier=none&env=development", "403 policy.environment"),
                ("?tier=none&once=consume", "400 token.not-single-use"),
            ] {
                #expect(try await service.get("/v1/authorize\(query)", token: token).verdict == verdict, "\(query)")
            }
            let passed = try await service.get("/v1/authorize?tier=none", token: token)
            #expect(passed.headers["x-sealward-tier"] == "none" && passed.headers["x-sealward-key"] == "none")
            #expect(
                try await service.post(
                    "/v1/tokens/consume", ["token": .string(token)], token: RunningService.serverToken
                )
                .code == "token.not-single-use")
        }
    }

    /// A check that knows the keys of attested callers knows none that signs these.
    @Test func noOtherKeySetHasItsKey() async throws {
        try await RunningService.with(configuration()) { service in
            let token = try #require(try await ask(service)["token"]?.text)
            let header = try #require(Base64.decodeURL(String(token.split(separator: ".")[0])))
            let key = try #require(try JSONReader.read(header).member("kid")?.text)
            for (path, has) in [("", false), ("/simulator", false), ("/untrusted", true)] {
                let set = try await service.get(path + "/.well-known/jwks.json")
                let keys = set["keys"]?.elements?.compactMap { $0.member("kid")?.text } ?? []
                #expect(keys.contains(key) == has, "\(path)")
            }
        }
    }

    @Test func aChallengeGivesOneToken() async throws {
        try await RunningService.with(configuration()) { service in
            let challenge = try await Phone(service).challenge("assert")
            let body: JSONValue = ["reason": "ramp", "challenge": .string(Base64.encode(challenge))]
            let replies = try await allAtOnce(8) { _ in
                try await service.post("/v1/apps/shop/tokens/untrusted", body).verdict
            }
            #expect(replies.count { $0 == "200" } == 1)
            #expect(replies.count { $0 == "409 challenge.used" } == 7)
            let made = Base64.encode([UInt8](repeating: 7, count: challenge.count))
            let forged = try await service.post(
                "/v1/apps/shop/tokens/untrusted", ["reason": "ramp", "challenge": .string(made)])
            #expect(forged.status >= 400 && forged.status < 500)
            #expect(try await ask(service, reason: "because").verdict == "400 request.malformed")
        }
    }

    @Test func quotasCountTheAddress() async throws {
        let proxy = try #require(AddressRange("127.0.0.1/32"))
        let settings = configuration {
            $0.trustedProxies = [proxy]
            $0.quotas = [.init(name: "free", per: .key, limit: 2, window: .seconds(3600))]
        }
        try await RunningService.with(settings) { service in
            var verdicts: [String] = []
            for address in [
                "192.0.2.1", "192.0.2.1", "192.0.2.1", "192.0.2.2", "2001:db8::1", "2001:db8::2", "2001:db8::3",
            ] {
                let token = try #require(try await ask(service, from: address)["token"]?.text)
                verdicts.append(
                    try await RunningService.call(
                        "GET", service.base + "/v1/authorize?tier=none&quota=free", token: token,
                        headers: ["X-Forwarded-For": address]
                    ).verdict)
            }
            let full = "429 policy.quota"
            #expect(verdicts == ["204", "204", full, "204", "204", "204", full])
        }
    }
}

/// Gateways that only watch.
@Suite struct ObserveTests {
    private func configuration(_ change: (inout Configuration) -> Void = { _ in }) -> Configuration {
        RunningService.configuration {
            $0.apps[0].untrusted = .allow
            $0.observe.routes = ["checkout", "search"]
            change(&$0)
        }
    }

    private func watch(
        _ service: RunningService, _ token: String?, _ query: String = "&simulated=allow"
    ) async throws -> String {
        let reply = try await service.get("/v1/authorize?mode=observe&route=checkout\(query)", token: token)
        return reply.status == 204 ? reply.headers["x-sealward-class"] ?? "no class" : reply.verdict
    }

    @Test func everyRequestPassesAndIsNamed() async throws {
        let store = Store.inMemory()
        try await RunningService.with(configuration(), store: store) { service in
            let token = try await AuthorizationTests.token(service, "shop", RunningService.app)
            let once = try await AuthorizationTests.token(service, "shop", RunningService.app, singleUse: true)
            let challenge = try await Phone(service).challenge("assert")
            let stranger =
                try await service.post(
                    "/v1/apps/shop/tokens/untrusted",
                    ["reason": "simulator", "challenge": .string(Base64.encode(challenge))])["token"]?.text ?? ""
            #expect(try await watch(service, nil) == "none")
            #expect(try await watch(service, token) == "verified")
            #expect(try await watch(service, token, "") == "invalid")
            #expect(try await watch(service, token + "x") == "invalid")
            #expect(try await watch(service, "a.b.c") == "invalid")
            #expect(try await watch(service, stranger, "&tier=none") == "untrusted")
            #expect(try await watch(service, stranger) == "untrusted")
            // Watching spends nothing.
            for _ in 0..<3 { #expect(try await watch(service, once, "&simulated=allow&once=consume") == "verified") }
            let path = "/v1/authorize?simulated=allow&once=consume"
            #expect(try await service.get(path, token: once).verdict == "204")
            #expect(try await watch(service, once, "&simulated=allow&once=consume") == "reused")
            service.clock.advance(7200)
            #expect(try await watch(service, token) == "outdated")
            let metrics = String(
                decoding: try await service.get("/metrics", token: RunningService.adminToken).body, as: UTF8.self)
            #expect(metrics.contains(#"sealward_observed_total{app="shop",class="verified",route="checkout"} 4"#))
            #expect(metrics.contains(#"class="outdated",route="checkout"} 1"#))
        }
    }

    @Test func watchingChargesNoQuota() async throws {
        let settings = configuration {
            $0.quotas = [.init(name: "free", per: .key, limit: 1, window: .seconds(3600))]
        }
        try await RunningService.with(settings) { service in
            let token = try await AuthorizationTests.token(service, "shop", RunningService.app)
            for _ in 0..<3 { #expect(try await watch(service, token, "&simulated=allow&quota=free") == "verified") }
            let charged = "/v1/authorize?simulated=allow&quota=free"
            #expect(try await service.get(charged, token: token).verdict == "204")
            #expect(try await service.get(charged, token: token).verdict == "429 policy.quota")
        }
    }

    /// A gateway that takes only 200 for a yes gets it here too.
    @Test func theYesIsTheOneThatTheGatewayAsksFor() async throws {
        try await RunningService.with(configuration()) { service in
            let reply = try await service.get("/v1/authorize?mode=observe&route=search&success=200")
            #expect(reply.status == 200 && reply.headers["x-sealward-class"] == "none", "\(reply.verdict)")
        }
    }

    @Test func onlyTheRoutesOfTheConfigurationAreWatched() async throws {
        try await RunningService.with(configuration()) { (service) async throws in
            for query in [
                "mode=observe", "mode=observe&route=cart", "mode=watch&route=search", "route=search",
                "mode=observe&route=search&x=1",
            ] {
                #expect(try await service.get("/v1/authorize?\(query)").verdict == "400 request.malformed", "\(query)")
            }
        }
        try await RunningService.with(RunningService.configuration()) { (service) async throws in
            let query = "mode=observe&route=checkout"
            #expect(try await service.get("/v1/authorize?\(query)").verdict == "400 request.malformed")
        }
    }

    @Test func aStoreThatFailsRefusesNobody() async throws {
        let isFailing = NIOLockedValueBox(false)
        let faulty = FaultyStore { _ in
            if isFailing.withLockedValue({ $0 }) { throw StoreFault.unavailable("a test") }
        }
        try await RunningService.with(configuration(), store: faulty) { service in
            let token = try await AuthorizationTests.token(service, "shop", RunningService.app)
            isFailing.withLockedValue { $0 = true }
            #expect(try await watch(service, token) == "unknown")
        }
    }
}
