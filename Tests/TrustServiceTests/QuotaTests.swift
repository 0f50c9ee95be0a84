// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Formats
import Foundation
import TestSupport
import Testing
import TrustStores
import Vocabulary

@testable import TrustService

/// What a gateway lets through, counted over all nodes.
@Suite struct QuotaTests {
    static func configuration(_ quotas: Configuration.Quota...) -> Configuration {
        RunningService.configuration { $0.quotas = quotas }
    }

    private static func token(_ service: RunningService, user: String? = nil) async throws -> String {
        let (phone, keyId) = try await Phone.attested(service, user: user)
        let challenge = try await phone.challenge("assert", keyId: keyId, user: user)
        let reply = try await service.post(
            "/v1/apps/shop/tokens", try await phone.assertion(keyId, challenge: challenge))
        guard let token = reply["token"]?.text else { throw Failure("no token: \(reply.verdict)") }
        return token
    }

    private static func ask(
        _ base: String, _ token: String?, _ quota: String, cost: String? = nil, query: String = ""
    ) async throws -> Reply {
        try await RunningService.call(
            "GET", "\(base)/v1/authorize?simulated=allow&quota=\(quota)\(query)", token: token,
            headers: cost.map { ["X-Cost": $0] } ?? [:])
    }

    @Test func manyAtOnceOnTwoNodesGetExactlyTheLimit() async throws {
        let store = Store.inMemory()
        let settings = Self.configuration(.init(name: "api", per: .key, limit: 30, window: .seconds(60)))
        try await RunningService.with(settings, store: store) { left in
            try await RunningService.with(settings, store: store, clock: left.clock) { right in
                let token = try await Self.token(left)
                let answers = try await allAtOnce(80) { try await Self.ask([left, right][$0 % 2].base, token, "api") }
                let rests = answers.compactMap { $0.headers["x-sealward-quota-remaining"].flatMap { Int($0) } }
                #expect(rests.sorted() == Array(0..<30))
                let refused = answers.filter { $0.verdict == "429 policy.quota" }
                #expect(refused.count == 50)
                #expect(refused.allSatisfy { (1...60).contains(Int($0.headers["retry-after"] ?? "") ?? 0) })
                // Another key has its own, and a window ends.
                let other = try await Self.token(left)
                #expect(try await Self.ask(right.base, other, "api").headers["x-sealward-quota-remaining"] == "29")
                left.clock.advance(61)
                #expect(try await Self.ask(left.base, token, "api").status == 204)
                let metrics = String(decoding: try await left.get("/metrics").body, as: UTF8.self)
                #expect(metrics.contains("sealward_quotas_exhausted_total{quota=\"api\"}"))
            }
        }
    }

    @Test func theGatewayStatesTheCost() async throws {
        let settings = Self.configuration(
            .init(name: "llm", per: .key, limit: 100, window: .seconds(60), costHeader: "X-Cost"),
            .init(name: "plain", per: .key, limit: 2, window: .seconds(60)))
        try await RunningService.with(settings) { service in
            let token = try await Self.token(service)
            func rest(_ quota: String, _ cost: String?) async throws -> String {
                let reply = try await Self.ask(service.base, token, quota, cost: cost)
                return reply.headers["x-sealward-quota-remaining"] ?? reply.verdict
            }
            #expect(try await rest("llm", "60") == "40")
            #expect(try await rest("llm", nil) == "39")
            #expect(try await rest("llm", "40") == "429 policy.quota")
            for wrong in ["0", "-1", "+1", "101", "1.0", "1e1", "", "x", "01", "99999999999999999999", "1, 1"] {
                #expect(try await rest("llm", wrong) == "400 request.malformed", "\(wrong)")
            }
            // What was refused cost nothing, and a quota without a cost header does not read one.
            #expect(try await rest("llm", "39") == "0")
            #expect(try await rest("plain", "50") == "1")
            #expect(try await rest("other", nil) == "400 request.malformed")
            let without = try await Self.ask(service.base, nil, "other")
            #expect(without.verdict == "400 request.malformed")
        }
    }

    @Test func whatIsRefusedCostsNothing() async throws {
        let settings = Self.configuration(.init(name: "api", per: .app, limit: 2, window: .seconds(60)))
        try await RunningService.with(settings) { service in
            let token = try await Self.token(service)
            for (query, verdict) in [
                ("&env=development", "403 policy.environment"), ("&app=bank", "403 policy.app"),
                ("&tier=best", "400 request.malformed"),
            ] {
                #expect(try await Self.ask(service.base, token, "api", query: query).verdict == verdict)
            }
            #expect(try await Self.ask(service.base, token + "x", "api").verdict == "401 token.invalid")
            #expect(try await Self.ask(service.base, token, "api").headers["x-sealward-quota-remaining"] == "1")
            // Per app: another key of it counts too.
            let other = try await Self.token(service)
            #expect(try await Self.ask(service.base, other, "api").headers["x-sealward-quota-remaining"] == "0")
            #expect(try await Self.ask(service.base, token, "api").verdict == "429 policy.quota")
            #expect(try await service.get("/v1/authorize?simulated=allow", token: token).status == 204)
        }
    }

    @Test func usersAreCountedOverTheirKeys() async throws {
        let settings = Self.configuration(.init(name: "api", per: .user, limit: 3, window: .seconds(60)))
        try await RunningService.with(settings) { service in
            func rest(_ token: String) async throws -> String {
                let reply = try await Self.ask(service.base, token, "api")
                return reply.headers["x-sealward-quota-remaining"] ?? reply.verdict
            }
            let (phone, tablet) = (
                try await Self.token(service, user: "ada"), try await Self.token(service, user: "ada")
            )
            #expect(try await rest(phone) == "2")
            #expect(try await rest(tablet) == "1")
            #expect(try await rest(try await Self.token(service, user: "bob")) == "2")
            // Without a user a key counts by itself.
            let (first, second) = (try await Self.token(service), try await Self.token(service))
            #expect(try await rest(first) == "2")
            #expect(try await rest(second) == "2")
        }
    }

    /// A phone that attests a key without a name has no count of its own, if the quota asks for users.
    @Test func aQuotaMayRequireAUser() async throws {
        let settings = Self.configuration(
            .init(name: "strict", per: .user, limit: 2, window: .seconds(60), requireUser: true),
            .init(name: "loose", per: .user, limit: 2, window: .seconds(60)))
        try await RunningService.with(settings) { service in
            let (named, nameless) = (try await Self.token(service, user: "ada"), try await Self.token(service))
            #expect(try await Self.ask(service.base, nameless, "strict").verdict == "403 policy.user")
            #expect(try await Self.ask(service.base, nameless, "loose").status == 204)
            #expect(try await Self.ask(service.base, named, "strict").headers["x-sealward-quota-remaining"] == "1")
        }
    }

    /// A quota that cannot be counted lets nobody through.
    /// One phone gets as many tokens for device tokens as it asks for, and together they have one quota.
    @Test(arguments: [Configuration.Quota.Per.key, .user]) func deviceTokensShareOneCount(
        _ per: Configuration.Quota.Per
    )
        async throws
    {
        let settings = AppCheckTests.configuration {
            $0.quotas = [.init(name: "q", per: per, limit: 3, window: .seconds(60))]
            $0.apple = .ofTests
        }
        try await RunningService.with(settings, transport: ScriptedApple()) { service in
            let phone = await AppCheckPhone(service)
            var verdicts: [String] = []
            for _ in 0..<5 {
                let reply = try await phone.call("exchangeDeviceCheckToken", [.init("deviceToken", "AAAA")])
                verdicts.append(
                    try await RunningService.call(
                        "GET", "\(service.base)/v1/authorize?app=shop&quota=q",
                        headers: ["X-Firebase-AppCheck": try #require(reply["token"]?.text)]
                    ).verdict)
            }
            #expect(verdicts == ["204", "204", "204", "429 policy.quota", "429 policy.quota"])
        }
    }

    @Test func aStoreThatIsAwayRefuses() async throws {
        let store = FaultyStore { verb in if verb == "draw" { throw StoreFault.unavailable("away") } }
        let settings = Self.configuration(.init(name: "api", per: .key, limit: 3, window: .seconds(60)))
        try await RunningService.with(settings, store: store) { service in
            let token = try await Self.token(service)
            #expect(try await Self.ask(service.base, token, "api").verdict == "503 store.unavailable")
        }
    }

    @Test func settingsAreRead() throws {
        func issues(_ quotas: String) -> [String] {
            let outcome = ConfigurationReader.read(file: Array("{\"quotas\": \(quotas)}".utf8), environment: [:]) {
                path throws(UnreadableFile) in throw UnreadableFile(reason: path)
            }
            switch outcome {
            case .issues(let issues): return issues.map(\.path)
            case .configuration(let settings): return settings.quotas.map { "\($0.name) \($0.costHeader ?? "-")" }
            }
        }
        #expect(
            issues(#"[{"name": "a", "per": "key", "limit": 5, "windowSeconds": 60, "cost": "X-Cost"}]"#) == ["a X-Cost"]
        )
        #expect(
            issues(#"[{"name": "a b", "per": "all", "limit": 0, "windowSeconds": 0, "cost": "Authorization"}, {}]"#)
                == [
                    "quotas[0].name", "quotas[0].per", "quotas[0].limit", "quotas[0].windowSeconds", "quotas[0].cost",
                    "quotas[1].name", "quotas[1].per", "quotas[1].limit", "quotas[1].windowSeconds",
                ]
        )
        let twice = #"{"name": "a", "per": "key", "limit": 5, "windowSeconds": 60}"#
        #expect(issues("[\(twice), \(twice)]") == ["quotas[1].name"])
    }
}
