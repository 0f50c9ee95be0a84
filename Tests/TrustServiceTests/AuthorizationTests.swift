// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import DeviceSimulator
import Formats
import Foundation
import TestSupport
import Testing
import TrustStores
import TrustTokens
import Vocabulary

@testable import HTTPService
@testable import TrustService

@Suite struct AuthorizationQueryTests {
    @Test(arguments: [
        "x=1", "app=shop&app=shop", "app=shop&%61pp=admin", "app", "app=", "app=a,,b", "app=,", "env=staging", "env=",
        "tier=best", "simulated=yes", "simulated", "&", "app=shop&", "debug=yes", "quota=", "App=shop", "%",
        "app=%zz", "success=204", "once=yes", "once", "tier=None", "mode=observe", "mode=observe&route=x", "route=x",
        "success=", "success=200&success=200",
        "app=%ff", "ap%70=shop&app=shop", String(repeating: "a", count: 5000),
    ])
    func whatIsNotUnderstoodIsRefused(_ query: String) {
        #expect(throws: Problem("request.malformed")) { try AuthorizationQuery(query) }
    }

    @Test func theContractsParametersAreRead() throws {
        let plain = try AuthorizationQuery("")
        #expect(plain.terms.apps == nil && plain.terms.environment == .production && plain.terms.tier == .low)
        #expect(!plain.terms.allowsSimulated && !plain.terms.allowsDebug && !plain.terms.spends)
        #expect(plain.success == 204)
        let full = try AuthorizationQuery("app=shop,b%2cank&env=any&tier=standard&simulated=allow&success=200")
        #expect(full.terms.apps == ["shop", "b", "ank"])
        #expect(full.terms.environment == nil && full.terms.tier == .standard && full.terms.allowsSimulated)
        #expect(full.success == 200)
        #expect(try AuthorizationQuery("env=development").terms.environment == .development)
        #expect(try AuthorizationQuery("once=consume").terms.spends)
    }

    /// The same character in two spellings is two names: what is compared are bytes.
    @Test func namesAreComparedByBytes() throws {
        let query = try AuthorizationQuery("app=caf%C3%A9")
        #expect(query.terms.apps?.contains("cafe\u{301}") == false)
        #expect(query.terms.apps?.contains("caf\u{E9}") == true)
    }
}

/// Which tokens pass a gateway.
@Suite struct AuthorizationTests {
    static let bank = SimulatedApp("TEAM123456.com.example.bank")

    static func configuration() -> Configuration {
        RunningService.configuration {
            var bank = Configuration.App(
                id: "bank", teamId: "TEAM123456", appIdPrefix: "TEAM123456", bundleIds: ["com.example.bank"])
            bank.environments = [.production, .development]
            $0.apps.append(bank)
        }
    }

    /// A token of an app's key.
    static func token(
        _ service: RunningService, _ name: String, _ app: SimulatedApp, singleUse: Bool = false
    ) async throws -> String {
        let phone = await Phone(service, app: app)
        let challenge = try await phone.challenge("attest", app: name)
        let (keyId, body) = try await phone.attestation(challenge: challenge)
        let attested = try await service.post("/v1/apps/\(name)/attestations", body)
        guard attested.status == 201 else { throw Failure("not attested: \(attested.verdict)") }
        let asked = try await phone.assertion(keyId, challenge: try await phone.challenge("assert", app: name))
        let wish = asked.adding(singleUse ? [.init("singleUse", true)] : [])
        let reply = try await service.post("/v1/apps/\(name)/tokens", wish)
        guard let token = reply["token"]?.text else { throw Failure("no token: \(reply.verdict)") }
        return token
    }

    @Test func appsAndEnvironmentsAreKeptApart() async throws {
        try await RunningService.with(Self.configuration()) { service in
            let shop = try await Self.token(service, "shop", RunningService.app)
            let bank = try await Self.token(service, "bank", Self.bank)
            func ask(_ query: String, _ token: String) async throws -> Reply {
                try await service.get("/v1/authorize?simulated=allow\(query)", token: token)
            }
            for (query, ofShop, ofBank) in [
                ("", "204", "204"), ("&app=shop", "204", "403 policy.app"), ("&app=bank", "403 policy.app", "204"),
                ("&app=shop,bank", "204", "204"), ("&app=none", "403 policy.app", "403 policy.app"),
                ("&env=any", "204", "204"), ("&env=production", "204", "204"),
                ("&env=development", "403 policy.environment", "403 policy.environment"),
                ("&app=shop&app=bank", "400 request.malformed", "400 request.malformed"),
                ("&%61pp=shop&app=bank", "400 request.malformed", "400 request.malformed"),
                ("&unknown=1", "400 request.malformed", "400 request.malformed"),
            ] {
                #expect(try await ask(query, shop).verdict == ofShop, "shop \(query)")
                #expect(try await ask(query, bank).verdict == ofBank, "bank \(query)")
            }
            let passed = try await ask("&app=shop", shop)
            #expect(passed.headers["x-sealward-app"] == "TEAM123456.com.example.shop")
            #expect(passed.headers["x-sealward-environment"] == "production")
            #expect(passed.headers["x-sealward-key"]?.isEmpty == false)
            #expect(passed.headers["x-sealward-tier"]?.isEmpty == false)
            // A gateway that asks with the client's method, and takes 200 alone for a yes.
            let path = service.base + "/v1/authorize?app=shop&simulated=allow&success=200"
            for method in ["GET", "POST", "PUT", "PATCH", "DELETE"] {
                let yes = try await RunningService.call(method, path, token: shop)
                #expect(yes.status == 200 && yes.body.isEmpty, "\(method)")
                #expect(yes.headers["x-sealward-app"] == "TEAM123456.com.example.shop", "\(method)")
                #expect(try await RunningService.call(method, path, token: bank).verdict == "403 policy.app")
                #expect(try await RunningService.call(method, path).verdict == "401 token.missing")
                // The header fields of the client's request come along, sometimes with its body; a client of ours puts none behind GET.
                for body in ["", "--x", String(repeating: "x", count: 100_000)] where body.isEmpty || method != "GET" {
                    let sent = try await RunningService.call(
                        method, path, body: body.isEmpty ? nil : Array(body.utf8), token: shop,
                        headers: ["Content-Type": "multipart/form-data; boundary=x"])
                    #expect(sent.verdict == "200", "\(method) with \(body.utf8.count) bytes")
                }
            }
            #expect(try await RunningService.call("OPTIONS", path, token: shop).verdict == "405 method.not-allowed")
            // A gateway that is set up wrongly hears of it without a token as well.
            #expect(try await service.get("/v1/authorize?ap=shop").verdict == "400 request.malformed")
        }
    }

    /// Backends and gateways hold a token to the same terms, and what is refused is not spent.
    @Test func consumingAsksWhatAGatewayAsks() async throws {
        try await RunningService.with(Self.configuration()) { service in
            let development = SimulatedApp(RunningService.app.applicationId, distribution: .development)
            let shop = try await Self.token(service, "shop", RunningService.app, singleUse: true)
            let built = try await Self.token(service, "shop", development, singleUse: true)
            let rows: [(members: [JSONValue.Member], ofShop: String, ofBuild: String)] = [
                ([], "403 policy.simulated", "403 policy.simulated"),
                ([.init("simulated", "yes")], "400 request.malformed", "400 request.malformed"),
                ([.init("simulated", true)], "400 request.malformed", "400 request.malformed"),
                ([.init("environment", "staging")], "400 request.malformed", "400 request.malformed"),
                ([.init("app", "")], "400 request.malformed", "400 request.malformed"),
                ([.init("debug", "allow")], "403 policy.simulated", "403 policy.simulated"),
                ([.init("simulated", "allow"), .init("app", "bank")], "403 policy.app", "403 policy.app"),
                (
                    [.init("simulated", "allow"), .init("environment", "development"), .init("app", "bank")],
                    "403 policy.app", "403 policy.app"
                ),
                ([.init("simulated", "allow"), .init("app", "shop")], "200", "403 policy.environment"),
                ([.init("simulated", "allow"), .init("environment", "any")], "409 token.spent", "200"),
            ]
            for row in rows {
                for (token, verdict) in [(shop, row.ofShop), (built, row.ofBuild)] {
                    let body = JSONValue.object([.init("token", .string(token))] + row.members)
                    let reply = try await service.post("/v1/tokens/consume", body, token: RunningService.serverToken)
                    #expect(reply.verdict == verdict, "\(row.members)")
                    if reply.status == 200 { #expect(reply["reasons"] == ["newKey"] && reply["tier"] != nil) }
                }
            }
        }
    }

    @Test func aGatewayMaySpendTokens() async throws {
        try await RunningService.with(Self.configuration()) { service in
            let single = try await Self.token(service, "shop", RunningService.app, singleUse: true)
            let many = try await Self.token(service, "shop", RunningService.app)
            @Sendable func ask(_ query: String, _ token: String) async throws -> String {
                try await service.get("/v1/authorize?\(query)", token: token).verdict
            }
            for (query, verdict) in [
                ("simulated=allow", "403 token.single-use"), ("", "403 token.single-use"),
                ("once=consume", "403 policy.simulated"), ("simulated=allow&once=yes", "400 request.malformed"),
                ("simulated=allow&once=consume&app=bank", "403 policy.app"),
                ("simulated=allow&once=consume&env=development", "403 policy.environment"),
                ("simulated=allow&once=consume&app=shop", "204"), ("simulated=allow&once=consume", "409 token.spent"),
            ] {
                #expect(try await ask(query, single) == verdict, "\(query)")
            }
            // Whoever asks for one use does not let in what can be copied.
            #expect(try await ask("simulated=allow&once=consume", many) == "400 token.not-single-use")
            #expect(try await ask("simulated=allow", many) == "204")
            let token = try await Self.token(service, "shop", RunningService.app, singleUse: true)
            let verdicts = try await allAtOnce(20) { index in
                if index % 2 == 0 { return try await ask("simulated=allow&once=consume", token) }
                let body: JSONValue = ["token": .string(token), "simulated": "allow"]
                let spent = try await service.post("/v1/tokens/consume", body, token: RunningService.serverToken)
                return spent.status == 200 ? "204" : spent.verdict
            }
            #expect(verdicts.tally == ["204": 1, "409 token.spent": 19])
        }
    }

    /// Runs a service with a token that another node on its store gave.
    private static func withToken(
        _ settings: Configuration, _ store: any TrustStore,
        _ body: @escaping (RunningService, String) async throws -> Void
    ) async throws {
        try await RunningService.with(configuration(), store: store) { other in
            let token = try await token(other, "shop", RunningService.app)
            try await RunningService.with(settings, store: store) { service in
                try await body(service, token)
            }
        }
    }

    /// A good token that is refused costs the caller's limit as a bad one does.
    @Test(arguments: ["app=bank&simulated=allow", "simulated=allow&quota=one", "simulated=allow&once=consume", ""])
    func refusalsOfGoodTokensAreLimited(_ query: String) async throws {
        let store = Store.inMemory()
        var settings = Self.configuration()
        settings.limits.requestsPerSecondPerAddress = 1
        settings.quotas = [.init(name: "one", per: .key, limit: 1, window: .seconds(86_400))]
        try await Self.withToken(settings, store) { service, token in
            var seen: Set<String> = []
            // Two seconds' worth is there at the start, and one comes back each second.
            for _ in 0..<400 where !seen.contains("429 limit.address") {
                seen.insert(try await service.get("/v1/authorize?\(query)", token: token).verdict)
            }
            #expect(seen.contains("429 limit.address"), "\(seen)")
        }
    }
}
