// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import AppleServices
import Crypto
import DeviceSimulator
import Formats
import Foundation
import NIOConcurrencyHelpers
import TestSupport
import Testing
import TrustStores
import TrustTokens
import Vocabulary
import _CryptoExtras

@testable import TrustService

/// What backends and gateways do with App Check tokens, and tokens without an attestation.
@Suite struct AppCheckTokenTests {
    private static let debugToken = "3F2504E0-4F89-41D3-9A0C-0305E82C3301"

    private static func debug(
        _ name: String, _ token: String = debugToken, app: String = "shop",
        expires: Date = Date(timeIntervalSinceNow: 86_400)
    ) -> Configuration.AppCheck.DebugToken {
        .init(name: name, digest: Array(SHA256.hash(data: Data(token.utf8))), app: app, expires: expires)
    }

    private func authorize(
        _ service: RunningService, _ query: String, _ appCheck: String, bearer: String? = nil
    ) async throws -> Reply {
        try await RunningService.call(
            "GET", "\(service.base)/v1/authorize?\(query)", token: bearer, headers: ["X-Firebase-AppCheck": appCheck])
    }

    @Test func gatewaysTakeAppCheckTokens() async throws {
        let settings = AppCheckTests.configuration(appCheck: { $0.debugTokens = [Self.debug("ci")] })
        try await RunningService.with(settings) { service in
            let phone = await AppCheckPhone(service)
            let (keyId, _, token) = try await phone.attested()
            for (query, verdict) in [
                ("simulated=allow", "204"), ("", "403 policy.simulated"), ("simulated=allow&app=shop", "204"),
                ("simulated=allow&app=bank", "403 policy.app"), ("simulated=allow&tier=low", "204"),
                ("simulated=allow&env=development", "403 policy.environment"), ("simulated=allow&env=any", "204"),
                ("simulated=allow&debug=allow", "204"), ("debug=yes", "400 request.malformed"),
            ] {
                #expect(try await authorize(service, query, token).verdict == verdict, "\(query)")
            }
            let passed = try await authorize(service, "simulated=allow", token)
            #expect(passed.headers["x-sealward-app"] == "TEAM123456.com.example.shop")
            #expect(passed.headers["x-sealward-key"] == keyId)
            #expect(passed.headers["x-sealward-environment"] == "production")
            #expect(passed.headers["x-sealward-tier"]?.isEmpty == false)
            // One of the two: which would count is not guessed.
            let native = try await phone.phone.token(keyId)
            let both = try await authorize(service, "simulated=allow", token, bearer: native)
            #expect(both.verdict == "400 request.malformed")
            // Neither kind of token is the other.
            #expect(
                try await authorize(service, "simulated=allow", native).verdict == "401 token.invalid")
            #expect(try await service.get("/v1/authorize?simulated=allow", token: token).verdict == "401 token.invalid")
            for spoiled in [token + "x", String(token.dropLast(8)), "", "a.b.c"] {
                #expect(try await authorize(service, "simulated=allow", spoiled).status == 401)
            }
            // A debug token passes where it is named, and only there.
            let debugged = try await phone.call("exchangeDebugToken", [.init("debug_token", .string(Self.debugToken))])
            let debug = try #require(debugged["token"]?.text)
            #expect(try await authorize(service, "simulated=allow&env=any", debug).verdict == "401 token.invalid")
            let passes = try await authorize(service, "debug=allow", debug)
            #expect(passes.verdict == "204")
            #expect(passes.headers["x-sealward-key"] == "debug:ci")
            #expect(passes.headers["x-sealward-environment"] == "debug")
            #expect(passes.headers["x-sealward-tier"] == "low")
            #expect(try await authorize(service, "debug=allow&tier=high", debug).verdict == "403 policy.tier")

            _ = try await service.revoke(keyId)
            #expect(try await authorize(service, "simulated=allow", token).verdict == "403 key.revoked")
            service.clock.advance(3601)
            #expect(try await authorize(service, "debug=allow", debug).verdict == "401 token.invalid")
        }
    }

    /// A debug token is its app's, when it is exchanged and when what it got is used; each app has a count of its own.
    @Test func aDebugTokenIsGoodForItsAppAlone() async throws {
        let other = "1:1234567890:ios:0a1b2c3d4e5f6071"
        let settings = AppCheckTests.configuration(
            {
                $0.apps.append(AuthorizationTests.configuration().apps[1])
                $0.quotas = [.init(name: "q", per: .key, limit: 2, window: .seconds(60))]
            },
            appCheck: {
                $0.apps[other] = "bank"
                $0.debugTokens = [Self.debug("ci"), Self.debug("bank-ci", "another debug token", app: "bank")]
            })
        try await RunningService.with(settings) { service in
            let phone = await AppCheckPhone(service)
            func exchange(_ token: String, _ app: String) async throws -> Reply {
                try await phone.call("exchangeDebugToken", [.init("debugToken", .string(token))], app: app)
            }
            #expect(AppCheckPhone.verdict(try await exchange(Self.debugToken, other)) == "403 PERMISSION_DENIED")
            let ofShop = try #require(try await exchange(Self.debugToken, AppCheckPhone.id)["token"]?.text)
            let ofBank = try #require(try await exchange("another debug token", other)["token"]?.text)
            #expect(try await authorize(service, "debug=allow&app=bank", ofShop).verdict == "403 policy.app")
            for token in [ofShop, ofBank] {
                for verdict in ["204", "204", "429 policy.quota"] {
                    #expect(try await authorize(service, "debug=allow&quota=q", token).verdict == verdict)
                }
            }
            #expect(try await authorize(service, "debug=allow", ofBank).headers["x-sealward-key"] == "debug:bank-ci")
        }
    }

    /// Who checks offline with the published keys lets no debug token or simulated device in, unless simulated devices are allowed.
    @Test func whatNoDeviceProvedHasAKeyOfItsOwn() async throws {
        func kid(_ token: String?) throws -> String {
            let head = try #require(token?.split(separator: ".").first.flatMap { Base64.decodeURL(String($0)) })
            return try #require(try JSONReader.read(head).member("kid")?.text)
        }
        func kids(_ service: RunningService, _ query: String) async throws -> [String] {
            (try await service.get("/v1/jwks\(query)")["keys"]?.elements ?? []).compactMap { $0.member("kid")?.text }
        }
        func settings(_ simulated: Configuration.AppCheck.Simulated) -> Configuration {
            AppCheckTests.configuration(appCheck: {
                $0.simulated = simulated
                $0.debugTokens = [Self.debug("ci")]
            })
        }
        func check(_ service: RunningService, _ simulated: Configuration.AppCheck.Simulated) async throws -> String {
            let phone = await AppCheckPhone(service)
            let reply = try await phone.call("exchangeDebugToken", [.init("debugToken", .string(Self.debugToken))])
            let debug = try kid(reply["token"]?.text)
            let published = try await kids(service, "")
            #expect(published.contains(debug) == (simulated == .allow))
            #expect(Set(try await kids(service, "?for=debug")) == Set(published + [debug]))
            #expect(try await kids(service, "?alt=json") == published)
            #expect(AppCheckPhone.verdict(try await service.get("/v1/jwks?for=all")) == "400 INVALID_ARGUMENT")
            if simulated == .allow { #expect(try kid(try await phone.attested().token) == debug) }
            return debug
        }
        let store = Store.inMemory()
        try await RunningService.with(settings(.refuse), store: store) { left in
            let key = try await check(left, .refuse)
            try await RunningService.with(settings(.allow), store: store) { (right) async throws in
                #expect(try await check(right, .allow) == key, "the store keeps the key")
            }
        }
    }

    @Test func guessesOfDebugTokensAreLimited() async throws {
        let settings = AppCheckTests.configuration(appCheck: { $0.debugTokens = [Self.debug("ci")] })
        try await RunningService.with(settings) { service in
            let phone = await AppCheckPhone(service)
            func exchange(_ token: String) async throws -> String {
                AppCheckPhone.verdict(try await phone.call("exchangeDebugToken", [.init("debugToken", .string(token))]))
            }
            for _ in 0..<30 { #expect(try await exchange(Self.debugToken) == "200") }
            var seen: [String] = []
            for guess in 0..<200 where seen.last != "429 RESOURCE_EXHAUSTED" {
                seen.append(try await exchange("guess \(guess)"))
            }
            #expect(seen.last == "429 RESOURCE_EXHAUSTED" && seen.contains("403 PERMISSION_DENIED"))
        }
    }

    /// Limited-use tokens pass a gateway only if it spends them, and then once, whoever spends them.
    @Test func limitedUseTokensAreSpentByGatewaysToo() async throws {
        try await RunningService.with(AppCheckTests.configuration()) { service in
            let phone = await AppCheckPhone(service)
            let (keyId, artifact, _) = try await phone.attested()
            func limited() async throws -> String {
                let reply = try await phone.call(
                    "exchangeAppAttestAssertion", try await phone.assertion(keyId, artifact, limitedUse: true))
                return try #require(reply["token"]?.text)
            }
            let first = try await limited()
            #expect(try await authorize(service, "simulated=allow", first).verdict == "403 token.single-use")
            #expect(try await authorize(service, "simulated=allow&once=consume", first).verdict == "204")
            #expect(try await authorize(service, "simulated=allow&once=consume", first).verdict == "409 token.spent")
            let beta = "/v1beta/projects/shop-project:verifyAppCheckToken"
            let again = try await service.post(
                beta, ["appCheckToken": .string(first)], token: RunningService.serverToken)
            #expect(again["alreadyConsumed"] == true)
            let second = try await limited()
            let body: JSONValue = ["token": .string(second), "simulated": "allow"]
            let spent = try await service.post("/v1/tokens/consume", body, token: RunningService.serverToken)
            #expect(spent["key"]?.text == keyId && spent["reasons"] == ["newKey"], "\(spent.verdict)")
            #expect(try await authorize(service, "simulated=allow&once=consume", second).verdict == "409 token.spent")
        }
    }

    /// A token never says how it wants to be verified, and who has the public key has not the private one.
    @Test func forgedTokensAreRefused() async throws {
        try await RunningService.with(AppCheckTests.configuration()) { service in
            let (_, _, token) = try await (await AppCheckPhone(service)).attested()
            let parts = token.split(separator: ".").map(String.init)
            let published = try #require(try await service.get("/v1/jwks")["keys"])
            guard case .array(let keys) = published, let kid = keys.first?.member("kid")?.text else {
                throw Failure("no keys")
            }
            func head(_ algorithm: String) -> String {
                Base64.encodeURL(Array(#"{"alg":"\#(algorithm)","typ":"JWT","kid":"\#(kid)"}"#.utf8))
            }
            let signed = "\(head("HS256")).\(parts[1])"
            let secret = SymmetricKey(data: Data(AppCheckTests.key.publicKey.pemRepresentation.utf8))
            let mac = HMAC<SHA256>.authenticationCode(for: Data(signed.utf8), using: secret)
            let claims = Base64.encodeURL(
                Array(
                    String(decoding: try #require(Base64.decodeURL(parts[1])), as: UTF8.self)
                        .replacing(AppCheckPhone.id, with: "1:1234567890:ios:ffff").utf8))
            for forged in [
                "\(head("none")).\(parts[1]).", "\(signed).\(Base64.encodeURL(mac))",
                "\(parts[0]).\(claims).\(parts[2])", "\(head("RS512")).\(parts[1]).\(parts[2])",
            ] {
                #expect(try await authorize(service, "simulated=allow", forged).verdict == "401 token.invalid")
            }
        }
    }

    @Test func debugTokensAreOffUnlessNamedAndEndWithTheirName() async throws {
        func exchange(_ settings: Configuration, _ token: String) async throws -> String {
            try await RunningService.with(settings) { service in
                let phone = await AppCheckPhone(service)
                let reply = try await phone.call("exchangeDebugToken", [.init("debugToken", .string(token))])
                return AppCheckPhone.verdict(reply)
            }
        }
        let named = AppCheckTests.configuration(appCheck: { $0.debugTokens = [Self.debug("ci")] })
        #expect(try await exchange(named, Self.debugToken) == "200")
        #expect(try await exchange(named, Self.debugToken.lowercased()) == "403 PERMISSION_DENIED")
        #expect(try await exchange(AppCheckTests.configuration(), Self.debugToken) == "403 PERMISSION_DENIED")
        let over = AppCheckTests.configuration(appCheck: {
            $0.debugTokens = [Self.debug("ci", expires: Date(timeIntervalSince1970: 1_700_000_000))]
        })
        #expect(try await exchange(over, Self.debugToken) == "403 PERMISSION_DENIED")

        let clock = TestClock()
        let soon = AppCheckTests.configuration(appCheck: {
            $0.debugTokens = [Self.debug("ci", expires: clock.now.addingTimeInterval(60))]
        })
        try await RunningService.with(soon, clock: clock) { service in
            let phone = await AppCheckPhone(service)
            let reply = try await phone.call("exchangeDebugToken", [.init("debug_token", .string(Self.debugToken))])
            let token = try #require(reply["token"]?.text)
            #expect(try await authorize(service, "debug=allow", token).status == 204)
            // The token lives an hour; what it stands for does not.
            clock.advance(61)
            #expect(try await authorize(service, "debug=allow", token).verdict == "401 token.invalid")
        }
    }

    @Test func deviceTokensThatAppleKnowsGetTheLowestTier() async throws {
        let apple = ScriptedApple()
        let settings = AppCheckTests.configuration {
            $0.apple = .ofTests
        }
        try await RunningService.with(settings, transport: apple) { service in
            let phone = await AppCheckPhone(service)
            let good = try await phone.call("exchangeDeviceCheckToken", [.init("device_token", "_-8")])
            #expect(good.status == 200)
            let sent = apple.state.withLockedValue { $0.requests.last }
            let body = try JSONReader.read(try #require(sent).body)
            // Apple reads the standard alphabet alone.
            #expect(body.member("device_token") == "/+8=")
            let passed = try await authorize(service, "", try #require(good["token"]?.text))
            #expect(passed.status == 204)
            #expect(passed.headers["x-sealward-key"] == "none" && passed.headers["x-sealward-tier"] == "low")
            apple.state.withLockedValue { ($0.status, $0.refusal) = (400, "Bad Device Token") }
            let refused = try await phone.call("exchangeDeviceCheckToken", [.init("device_token", "AAAA")])
            #expect(AppCheckPhone.verdict(refused) == "403 PERMISSION_DENIED")
            apple.state.withLockedValue { $0.status = 503 }
            let away = try await phone.call("exchangeDeviceCheckToken", [.init("device_token", "AAAA")])
            #expect(AppCheckPhone.verdict(away) == "503 UNAVAILABLE")
        }
    }

    /// The signature of a longer key would leave no room in a token.
    @Test func theLongestKeySignsTokensThatCanBeRead() throws {
        // Making one of 8192 bits takes long; its signature has 512 bytes more, in base64.
        let longest = try _RSA.Signing.PrivateKey(keySize: .bits4096)
        let settings = Configuration.AppCheck(
            projectNumber: String(repeating: "1", count: 20), projectId: String(repeating: "p", count: 64),
            keyPEMs: [longest.pemRepresentation], apps: [:])
        let tokens = try #require(AppCheckTokens(settings, testPEM: longest.pemRepresentation))
        let issued = try tokens.issue(
            .key(Data(repeating: 255, count: 32).base64EncodedString(), environment: "development", simulated: true),
            appId: String(repeating: "1", count: 128),
            trust: JudgedTrust(tier: "standard", reasons: ["newKey", "riskAboveBaseline", "category"]),
            limitedUse: true,
            identifier: [UInt8](repeating: 255, count: 16), at: Date())
        #expect(try tokens.read(issued.token, at: Date()).trust.tier == "standard")
        #expect(issued.token.utf8.count + 684 <= CompactToken.limit)
    }

    /// Of all callers on all nodes one is the first.
    @Test func aTokenIsConsumedOnceOverAllNodes() async throws {
        let store = Store.inMemory()
        let settings = AppCheckTests.configuration()
        try await RunningService.with(settings, store: store) { left in
            try await RunningService.with(settings, store: store, clock: left.clock) { right in
                let phone = await AppCheckPhone(left)
                let (keyId, artifact, _) = try await phone.attested()
                let limited = try await phone.call(
                    "exchangeAppAttestAssertion", try await phone.assertion(keyId, artifact, limitedUse: true))
                #expect(limited["ttl"] == "300s")
                let token = try #require(limited["token"]?.text)
                let answers = try await allAtOnce(40) { index in
                    let (node, version) = (index % 2 == 0 ? left : right, index % 4 < 2 ? "v1" : "v1beta")
                    let reply = try await node.post(
                        "/\(version)/projects/shop-project:verifyAppCheckToken",
                        ["app_check_token": .string(token)], token: RunningService.serverToken)
                    return "\(reply.status) \(String(decoding: reply.body, as: UTF8.self))"
                }
                #expect(answers.tally == ["200 {}": 1, "200 {\"alreadyConsumed\":true}": 39])
            }
        }
    }

    @Test func onlyServersConsumeTokens() async throws {
        try await RunningService.with(AppCheckTests.configuration()) { service in
            let (_, _, token) = try await (await AppCheckPhone(service)).attested()
            func verify(_ project: String, _ token: String, caller: String?) async throws -> String {
                AppCheckPhone.verdict(
                    try await service.post(
                        "/v1beta/projects/\(project):verifyAppCheckToken", ["appCheckToken": .string(token)],
                        token: caller))
            }
            let server = RunningService.serverToken
            #expect(try await verify("1234567890", token, caller: nil) == "401 UNAUTHENTICATED")
            #expect(try await verify("1", token, caller: server) == "404 NOT_FOUND")
            #expect(try await verify("1234567890", token + "x", caller: server) == "403 PERMISSION_DENIED")
            #expect(try await verify("1234567890", token, caller: server) == "200")
            service.clock.advance(3601)
            #expect(try await verify("1234567890", token, caller: server) == "403 PERMISSION_DENIED")
        }
    }

    @Test func anArtifactIsOfOneAppProjectAndStore() throws {
        let keyId = try #require(KeyIdentifier(bytes: [UInt8](repeating: 7, count: 32)))
        let artifact = AppCheckArtifact(keyId: keyId, environment: "development", simulated: true)
        let secret = [UInt8](repeating: 1, count: 32)
        let artifacts = AppCheckArtifacts(secret: secret, project: "1")
        let bytes = try artifacts.seal(artifact, appId: "1:1:ios:a", app: "shop")
        #expect(artifacts.open(bytes, appId: "1:1:ios:a", app: "shop") == artifact)
        #expect(artifacts.open(bytes, appId: "1:1:ios:b", app: "shop") == nil)
        #expect(artifacts.open(bytes, appId: "1:1:ios:a", app: "bank") == nil)
        #expect(AppCheckArtifacts(secret: secret, project: "2").open(bytes, appId: "1:1:ios:a", app: "shop") == nil)
        let other = AppCheckArtifacts(secret: [UInt8](repeating: 2, count: 32), project: "1")
        #expect(other.open(bytes, appId: "1:1:ios:a", app: "shop") == nil)
        for index in bytes.indices {
            var changed = bytes
            changed[index] ^= 0x10
            #expect(artifacts.open(changed, appId: "1:1:ios:a", app: "shop") == nil, "byte \(index)")
        }
        for count in 0..<bytes.count {
            #expect(artifacts.open(Array(bytes.prefix(count)), appId: "1:1:ios:a", app: "shop") == nil)
        }
        // What is sealed twice looks different, and says nothing of its key.
        #expect(try artifacts.seal(artifact, appId: "1:1:ios:a", app: "shop") != bytes)
    }
}

/// The settings of App Check.
@Suite struct AppCheckSettingsTests {
    private static let apps = #""apps": [{"id": "shop", "teamId": "TEAM123456", "bundleIds": ["a.b"]}]"#

    private func outcome(_ appCheck: String, files: [String: String] = [:]) -> ConfigurationReader.Outcome {
        let key = AppCheckTests.key.pemRepresentation
        let files = files.merging(["k.pem": key]) { first, _ in first }
        return ConfigurationReader.read(file: Array("{\(Self.apps), \"appCheck\": \(appCheck)}".utf8), environment: [:])
        { path throws(UnreadableFile) in
            guard let text = files[path] else { throw UnreadableFile(reason: "\(path): there is no such file") }
            return Array(text.utf8)
        }
    }

    private func issues(_ appCheck: String, files: [String: String] = [:]) -> [String] {
        if case .issues(let issues) = outcome(appCheck, files: files) { issues.map(\.path) } else { [] }
    }

    private static let whole = #"""
        "projectNumber": "1234567890", "projectId": "shop-project", "keyFiles": ["k.pem"], "apps": {"1:1234567890:ios:ab": "shop"}
        """#

    @Test func theContractsKeysAreRead() throws {
        let digest = String(repeating: "ab", count: 32)
        let read = outcome(
            "{\(Self.whole), \"ttlSeconds\": 1800, \"debugTokensFile\": \"d\", \"allowDebugTokens\": true, \"simulated\": \"allow\"}",
            files: ["d": "[\(Self.entry(digest))]"])
        guard case .configuration(let settings) = read, let appCheck = settings.appCheck else {
            throw Failure("\(read)")
        }
        #expect(appCheck.projectNumber == "1234567890" && appCheck.projectId == "shop-project")
        #expect(appCheck.keyPEMs.count == 1 && appCheck.apps == ["1:1234567890:ios:ab": "shop"])
        #expect(appCheck.ttl == .seconds(1800) && appCheck.simulated == .allow)
        #expect(appCheck.debugTokens.first?.name == "ci" && appCheck.debugTokens.first?.digest.count == 32)
        #expect(settings.issues.isEmpty)
        guard case .configuration(let plain) = outcome("{\(Self.whole)}") else { throw Failure("refused") }
        #expect(plain.appCheck?.ttl == .seconds(3600) && plain.appCheck?.simulated == .refuse)
        #expect(plain.appCheck?.debugTokens.isEmpty == true)
        // A debug token is a door for people without a device: the log says that it is open.
        #expect(settings.warnings.contains { $0.contains("debug tokens are accepted (1)") } && plain.warnings.isEmpty)
    }

    /// An entry of the file that ends in `days`.
    private static func entry(_ digest: String, app: String = "shop", days: Double = 30) -> String {
        let end = RFC3339.text(Date(timeIntervalSinceNow: days * 86_400))
        return #"{"name": "ci", "sha256": "\#(digest)", "app": "\#(app)", "expires": "\#(end)"}"#
    }

    /// Debug tokens end, are of an app, and are no part of production unless that is said.
    @Test func debugTokensHaveBounds() throws {
        let digest = String(repeating: "ab", count: 32)
        func issues(_ entry: String, _ more: String = ", \"allowDebugTokens\": true") -> [String] {
            self.issues("{\(Self.whole), \"debugTokensFile\": \"d\"\(more)}", files: ["d": "[\(entry)]"])
        }
        #expect(issues(Self.entry(digest)) == [])
        #expect(issues(Self.entry(digest, days: 365.9)) == [] && issues(Self.entry(digest, days: -1)) == [])
        #expect(issues(Self.entry(digest, days: 367)) == ["appCheck.debugTokensFile[0].expires"])
        #expect(issues(Self.entry(digest, app: "bank")) == ["appCheck.debugTokensFile[0].app"])
        #expect(issues(Self.entry(digest), "") == ["appCheck.debugTokensFile"])
        #expect(issues(Self.entry(digest), ", \"allowDebugTokens\": false") == ["appCheck.debugTokensFile"])
        // Where a simulator is trusted, a service is for tests anyway.
        let made = AppCheckTests.configuration(appCheck: {
            $0.debugTokens = [.init(name: "ci", digest: [UInt8](repeating: 1, count: 32), app: "shop", expires: Date())]
        })
        #expect(made.issues.isEmpty)
        var production = made
        production.trustSimulator = nil
        #expect(production.issues.map(\.path) == ["appCheck.debugTokensFile"])
    }

    @Test func whatIsWrongIsNamed() throws {
        #expect(issues("{}") == ["appCheck.projectNumber", "appCheck.projectId", "appCheck.keyFiles", "appCheck.apps"])
        let small = "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----"
        let ec = P256.Signing.PrivateKey().pemRepresentation
        #expect(
            issues(
                #"""
                {"projectNumber": "12a", "projectId": "Shop", "keyFiles": ["k.pem", "ec", "small"], "ttlSeconds": 0, "simulated": "yes",
                 "apps": {"shop": "shop", "1:1:ios:AB": "shop", "1:1:ios:ab": "bank", "1:1:ios:cd": ""}, "debugTokensFile": "d"}
                """#,
                files: ["ec": ec, "small": small, "d": #"[{"name": "a b", "sha256": "00"}]"#]
            ) == [
                "appCheck.projectNumber", "appCheck.projectId", "appCheck.keyFiles[1]", "appCheck.keyFiles[2]",
                "appCheck.apps.shop", "appCheck.apps.1:1:ios:AB", "appCheck.apps.1:1:ios:cd", "appCheck.ttlSeconds",
                "appCheck.debugTokensFile[0].name", "appCheck.debugTokensFile[0].sha256",
                "appCheck.debugTokensFile[0].app", "appCheck.debugTokensFile[0].expires", "appCheck.simulated",
            ]
        )
        #expect(
            issues(#"{\#(Self.whole.replacing(#": "shop"}"#, with: #": "bank"}"#))}"#)
                == ["appCheck.apps.1:1234567890:ios:ab"])
        var made = AppCheckTests.configuration(appCheck: { $0.keyPEMs = ["none"] })
        made.appCheck?.ttl = .zero
        #expect(made.issues.map(\.path) == ["appCheck.keyFiles[0]", "appCheck.ttlSeconds"])
    }
}
