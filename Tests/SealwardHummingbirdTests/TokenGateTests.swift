// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Crypto
import Formats
import Foundation
import HTTPTypes
import Testing
import TrustTokens
import Vocabulary

@testable import SealwardHummingbird

@Suite struct TokenGateTests {
    let service = ScriptedService()
    let key = P256.Signing.PrivateKey()

    init() {
        let published = [key]
        service.change { $0.keys["/.well-known/jwks.json"] = published }
    }

    @Test func aGoodTokenSaysWhoSentTheRequest() async throws {
        let identity = try await service.gate().judge(token: TestToken(key).text()).get()
        #expect(identity.app == ScriptedService.app && identity.key == "a2V5" && identity.tier == .high)
        #expect(identity.environment == .production && !identity.isSimulated && identity.tokenIdentifier == "one")
        #expect(identity.expiresAt == Date(timeIntervalSince1970: 1_800_003_600) && identity.quotaRemaining == nil)
        #expect(service.count("/v1/authorize") == 0, "a signature needs no question")
    }

    static let claims: [(name: String, value: JSONValue?, code: String)] = [
        ("iss", "https://other.example.com", "token.invalid"), ("aud", "other", "token.invalid"),
        ("sub", "ABCDE12345.com.example.other", "policy.app"), ("sub", nil, "token.invalid"),
        ("env", "development", "policy.environment"), ("env", "staging", "token.invalid"),
        ("tier", "low", "policy.tier"), ("tier", "best", "token.invalid"),
        ("exp", .integer(1_800_000_000), "token.invalid"), ("exp", .string("never"), "token.invalid"),
        ("exp", .integer(.max), "passed"), ("iat", .integer(1_800_000_061), "token.invalid"),
        ("iat", .integer(1_800_000_060), "passed"), ("sim", .bool(true), "token.invalid"),
        ("sim", nil, "token.invalid"),
        ("singleUse", .bool(true), "token.single-use"), ("singleUse", .string("yes"), "token.single-use"),
        ("singleUse", .bool(false), "passed"), ("more", "ignored", "passed"),
    ]

    @Test(arguments: claims.indices) func everyClaimIsJudged(_ index: Int) async throws {
        let row = TokenGateTests.claims[index]
        let gate = service.gate { $0.lowestTier = .standard }
        let code = await gate.judge(token: try TestToken(key).with(row.name, row.value).text()).code
        #expect(code == row.code, "\(row.name): \(String(describing: row.value))")
    }

    @Test func whatNobodySignedIsRefused() async throws {
        let good = try TestToken(key).text()
        let parts = good.split(separator: ".").map(String.init)
        var none = TestToken(key)
        none.header["alg"] = "none"
        var critical = TestToken(key)
        critical.header["crit"] = .array(["exp"])
        var nameless = TestToken(key)
        nameless.header["kid"] = nil
        let doubled = Base64.encodeURL(#"{"alg":"ES256","alg":"ES256","kid":"x"}"#.utf8)
        var stranger = TestToken(P256.Signing.PrivateKey())
        stranger.header["kid"] = TestToken(key).header["kid"]
        let bad = [
            "", ".", "..", "...", parts[0] + "." + parts[1], good + ".", good + "=", parts[0] + "." + parts[1] + ".",
            parts[0] + "." + parts[1] + "." + String(parts[2].dropLast(4)), try none.text(), try critical.text(),
            try nameless.text(), doubled + "." + parts[1] + "." + parts[2], try stranger.text(),
            good + String(repeating: "A", count: 5000), "e\u{301}." + parts[1] + "." + parts[2],
        ]
        let gate = service.gate()
        for text in bad { #expect(await gate.judge(token: text).code == "token.invalid", "\(text.prefix(80))") }
        #expect(await gate.judge(token: good).code == "passed")
    }

    @Test func theHeaderMustHaveOneBearerToken() async throws {
        let token = try TestToken(key).text()
        let gate = service.gate()
        #expect(await gate.judge([.authorization: "bearer " + token]).code == "passed")
        #expect(await gate.judge([:]).code == "token.missing")
        #expect(await gate.judge([.authorization: "Basic " + token]).code == "token.missing")
        #expect(await gate.judge([.authorization: "Bearer "]).code == "token.missing")
        var two: HTTPFields = [.authorization: "Bearer " + token]
        two.append(HTTPField(name: .authorization, value: "Bearer " + token))
        #expect(await gate.judge(two).code == "token.missing")
    }

    @Test func simulatedDevicesPassOnlyWhereTheyAreTrusted() async throws {
        let simulator = P256.Signing.PrivateKey()
        service.change { $0.keys["/simulator/.well-known/jwks.json"] = [simulator] }
        let token = TestToken(simulator).with("iss", .string(ScriptedService.base + "/simulator"))
            .with("sim", .bool(true))
        #expect(await service.gate().judge(token: try token.text()).code == "token.invalid")
        let trusting = service.gate { $0.trustsSimulator = true }
        #expect(await trusting.judge(token: try token.text()).code == "passed")
        #expect(await trusting.judge(token: try TestToken(key).text()).code == "passed")
        // Neither key signs for the other issuer.
        #expect(await trusting.judge(token: try token.with("sim", .bool(false)).text()).code == "token.invalid")
        let crossed = try TestToken(simulator).text()
        #expect(await trusting.judge(token: crossed).code == "token.invalid")
    }

    // MARK: - Keys

    @Test func keysAreFetchedOnceForAllWhoWait() async throws {
        let gate = service.gate()
        let token = try TestToken(key).text()
        await withTaskGroup(of: String.self) { group in
            for _ in 0..<50 { group.addTask { await gate.judge(token: token).code } }
            for await code in group { #expect(code == "passed") }
        }
        #expect(service.count("jwks") == 1 && service.count("revoked") == 1)
    }

    @Test func anUnknownKeyIsAskedForOnceAMinute() async throws {
        let gate = service.gate()
        _ = await gate.judge(token: try TestToken(key).text())
        for _ in 0..<20 {
            let stranger = try TestToken(P256.Signing.PrivateKey()).text()
            #expect(await gate.judge(token: stranger).code == "token.invalid")
        }
        #expect(service.count("jwks") == 1, "the keys have just been fetched")
        service.pass(.seconds(60))
        let next = P256.Signing.PrivateKey()
        service.change { [key] in $0.keys["/.well-known/jwks.json"] = [next, key] }
        #expect(await gate.judge(token: try TestToken(next).text()).code == "passed", "a new key of the service")
        #expect(await gate.judge(token: try TestToken(key).text()).code == "passed")
        #expect(service.count("jwks") == 2)
    }

    @Test func oldKeysServeWhileNewOnesAreFetchedAndNotForEver() async throws {
        let gate = service.gate { $0.missingRevocationList = .pass }
        let token = try TestToken(key).with("exp", .integer(1_900_000_000)).text()
        #expect(await gate.judge(token: token).code == "passed")
        service.change { $0.isDown = true }
        service.pass(.seconds(3599))
        #expect(await gate.judge(token: token).code == "passed", "the service is down, the keys are not an hour old")
        service.pass(.seconds(61))
        #expect(await gate.judge(token: token).code == "token.unchecked")
        service.change { $0.isDown = false }
        service.pass(.seconds(61))
        #expect(await gate.judge(token: token).code == "passed")
    }

    @Test func aKeyThatTheServiceNoLongerNamesIsForgottenWithinAMinute() async throws {
        let gate = service.gate { $0.missingRevocationList = .pass }
        let token = try TestToken(key).text()
        #expect(await gate.judge(token: token).code == "passed")
        service.change { $0.keys["/.well-known/jwks.json"] = [P256.Signing.PrivateKey()] }
        service.pass(.seconds(59))
        #expect(await gate.judge(token: token).code == "passed")
        service.pass(.seconds(1))
        #expect(await gate.judge(token: token).code == "token.invalid")
    }

    /// The service has a new key and is down: nobody can say that the token is not good, so the app is not told to throw it away.
    @Test func anUnknownKeyIsUncheckedWhileTheServiceIsDown() async throws {
        let gate = service.gate()
        let known = try TestToken(key).text()
        #expect(await gate.judge(token: known).code == "passed")
        let next = P256.Signing.PrivateKey()
        let token = try TestToken(next).text()
        service.change { $0.isDown = true }
        service.pass(.seconds(60))
        for _ in 0..<3 { #expect(await gate.judge(token: token).code == "token.unchecked") }
        #expect(await gate.judge(token: known).code == "passed", "keys that are known serve on")
        #expect(service.count("jwks") == 2, "asked once a minute")
        service.change { [key] in
            $0.isDown = false
            $0.keys["/.well-known/jwks.json"] = [next, key]
        }
        service.pass(.seconds(60))
        #expect(await gate.judge(token: token).code == "passed")
        #expect(await gate.judge(token: try TestToken(P256.Signing.PrivateKey()).text()).code == "token.invalid")
    }

    @Test func withoutKeysTheGateStaysShutAndAsksAgainSoon() async throws {
        service.change { $0.isDown = true }
        let gate = service.gate()
        let token = try TestToken(key).text()
        let refusal = await gate.judge(token: token)
        guard case .failure(let why) = refusal else { throw ScriptedService.Down() }
        #expect(why.code == "token.unchecked" && why.status == 503 && why.retryAfterSeconds == 5)
        #expect(await gate.judge(token: token).code == "token.unchecked")
        #expect(service.count("jwks") == 1, "not at every request")
        service.change { $0.isDown = false }
        service.pass(.seconds(1))
        #expect(await gate.judge(token: token).code == "passed")
    }

    @Test func setsOfKeysThatAreNoneAreRefused() {
        for text in ["", "[]", "{}", #"{"keys":{}}"#, #"{"keys":[]} x"#] {
            #expect(TokenKeys.read(Array(text.utf8)) == nil, "\(text)")
        }
        let entry = #"{"kty":"EC","crv":"P-256","kid":"a","x":"AA","y":"AA"}"#
        #expect(TokenKeys.read(Array("{\"keys\":[\(entry)]}".utf8))?.isEmpty == true)
        let many = Array(repeating: entry, count: 65).joined(separator: ",")
        #expect(TokenKeys.read(Array("{\"keys\":[\(many)]}".utf8)) == nil)
    }

    // MARK: - Revoked keys

    @Test func aRevokedKeyStopsAfterAMinuteWithoutAQuestionForEachToken() async throws {
        let gate = service.gate()
        let token = try TestToken(key).text()
        #expect(await gate.judge(token: token).code == "passed")
        service.change { $0.list.keys = [[1, 2, 3], ScriptedService.keyBytes] }
        service.pass(.seconds(59))
        #expect(await gate.judge(token: token).code == "passed")
        #expect(service.count("revoked") == 1, "asked at most once a minute")
        service.pass(.seconds(1))
        for _ in 0..<5 { #expect(await gate.judge(token: token).code == "key.revoked") }
        let other = try TestToken(key).with("key", .string(Base64.encode([9, 9, 9]))).text()
        #expect(await gate.judge(token: other).code == "passed")
        #expect(service.count("revoked") == 2 && service.count("/v1/authorize") == 0)
    }

    @Test func theLastListServesUntilItsEndAndThenTheOptionDecides() async throws {
        let token = try TestToken(key).text()
        for (missing, code) in [
            (TokenGate.MissingRevocationList.refuse, "token.unchecked"), (.pass, "passed"),
        ] {
            let service = ScriptedService()
            service.change { [key] in $0.keys["/.well-known/jwks.json"] = [key] }
            let gate = service.gate { $0.missingRevocationList = missing }
            #expect(await gate.judge(token: token).code == "passed")
            service.change { $0.isDown = true }
            service.pass(.seconds(299))
            #expect(await gate.judge(token: token).code == "passed")
            service.pass(.seconds(1))
            #expect(await gate.judge(token: token).code == code)
            // What answers again is asked again soon.
            service.change {
                $0.isDown = false
                $0.list.keys = [ScriptedService.keyBytes]
            }
            service.pass(.seconds(5))
            #expect(await gate.judge(token: token).code == "key.revoked")
        }
    }

    /// Each is no list that the service signed for now.
    @Test func aListThatCannotBeBelievedCountsAsNone() async throws {
        let changes: [@Sendable (inout TestList) -> Void] = [
            { $0.isPublished = false }, { $0.type = "JWT" }, { $0.type = nil },
            { $0.signer = P256.Signing.PrivateKey() },
            { $0.claims["iss"] = "https://other.example.com" }, { $0.life = 0 },
            { $0.claims["iat"] = .integer(1_800_000_061) }, { $0.claims["keys"] = "all" },
            { $0.claims["keys"] = .array([.string("AAAA")]) }, { $0.claims["keys"] = .array([.integer(1)]) },
            { $0.claims["complete"] = "no" },
        ]
        let token = try TestToken(key).text()
        for (index, change) in changes.enumerated() {
            let service = ScriptedService()
            service.change { [key] in
                $0.keys["/.well-known/jwks.json"] = [key]
                change(&$0.list)
            }
            #expect(await service.gate().judge(token: token).code == "token.unchecked", "\(index)")
            #expect(await service.gate { $0.missingRevocationList = .pass }.judge(token: token).code == "passed")
        }
    }

    @Test func whereTheListLeavesKeysOutTheServiceIsAsked() async throws {
        service.change {
            $0.list.claims["complete"] = .bool(false)
            $0.list.keys = [ScriptedService.keyBytes]
            $0.authorize = GateAnswer(status: 403, body: Array(#"{"code":"key.revoked"}"#.utf8))
        }
        let gate = service.gate()
        #expect(await gate.judge(token: try TestToken(key).text()).code == "key.revoked")
        #expect(service.count("/v1/authorize") == 0)
        let other = try TestToken(key).with("key", .string(Base64.encode([9, 9, 9]))).text()
        #expect(await gate.judge(token: other).code == "key.revoked")
        service.change { $0.authorize = GateAnswer(status: 204) }
        #expect(await gate.judge(token: other).code == "passed")
        #expect(service.count("/v1/authorize") == 2)
    }

    @Test(arguments: [
        ("http://trust.example.com", false), ("http://127.0.0.1.example.com", false), ("http://192.168.1.1", false),
        ("ftp://localhost", false), ("trust.example.com", false), ("", false), ("https://", false),
        ("http://127.0.0.1:80", true), ("http://[::1]:80", true), ("http://localhost", true),
        ("https://trust.example.com", true),
    ])
    func theServiceIsAskedByHTTPSOrOnThisMachine(_ address: String, _ isAsked: Bool) async throws {
        let gate = service.gate { $0.service = address }
        _ = await gate.judge(token: try TestToken(key).text())
        #expect((service.last != nil) == isAsked)
    }

    // MARK: - Questions to the service

    @Test func theServiceIsAskedForRevocationAndQuota() async throws {
        let gate = service.gate {
            $0.proof = .service(quota: "chat & more")
            $0.environments = [.production, .development]
        }
        service.change { $0.authorize = GateAnswer(status: 204, quotaRemaining: 7) }
        let token = try TestToken(key).text()
        #expect(try await gate.judge(token: token).get().quotaRemaining == 7)
        #expect(service.last?.url == ScriptedService.base + "/v1/authorize?env=any&quota=chat%20%26%20more")
        #expect(service.last?.bearer == token)
        // What is wrong by itself costs no question.
        _ = await gate.judge(token: try TestToken(key).with("exp", .integer(1)).text())
        #expect(service.count("/v1/authorize") == 1)
    }

    static let refusals: [(answer: GateAnswer, code: String, status: Int, wait: Int?)] = [
        (GateAnswer(status: 403, body: Array(#"{"code":"key.revoked"}"#.utf8)), "key.revoked", 403, nil),
        (
            GateAnswer(status: 429, retryAfterSeconds: 30, body: Array(#"{"code":"policy.quota"}"#.utf8)),
            "policy.quota", 429, 30
        ),
        (GateAnswer(status: 503, body: Array(#"{"code":"store.unavailable"}"#.utf8)), "store.unavailable", 503, 5),
        (GateAnswer(status: 400, body: Array(#"{"code":"request.malformed"}"#.utf8)), "token.unchecked", 503, 5),
        (GateAnswer(status: 500, body: Array(#"{"code":"internal.error"}"#.utf8)), "token.unchecked", 503, 5),
        (GateAnswer(status: 403, body: Array("<html>".utf8)), "token.unchecked", 503, 5),
        (GateAnswer(status: 403, body: Array(#"{"code":"<script>"}"#.utf8)), "token.unchecked", 503, 5),
        (GateAnswer(status: 302), "token.unchecked", 503, 5), (GateAnswer(status: 200), "token.unchecked", 503, 5),
    ]

    @Test(arguments: refusals)
    func whatTheServiceRefusesGoesOn(_ answer: GateAnswer, _ code: String, _ status: Int, _ wait: Int?) async throws {
        service.change { $0.authorize = answer }
        let refusal = await service.gate { $0.proof = .service() }.judge(token: try TestToken(key).text())
        guard case .failure(let why) = refusal else { throw ScriptedService.Down() }
        #expect(why.code == code && why.status == status && why.retryAfterSeconds == wait, "\(why)")
    }

    @Test func aQuotaThatTheServiceDoesNotCountOpensNothing() async throws {
        let gate = service.gate { $0.proof = .service(quota: "chat") }
        #expect(await gate.judge(token: try TestToken(key).text()).code == "token.unchecked")
    }

    @Test func singleUseTokensAreSpentAtTheService() async throws {
        let gate = service.gate { $0.proof = .singleUse(serverToken: "secret") }
        #expect(await gate.judge(token: try TestToken(key).text()).code == "token.not-single-use")
        #expect(service.count("consume") == 0)
        let token = try TestToken(key).with("singleUse", .bool(true)).text()
        #expect(await gate.judge(token: token).code == "passed")
        #expect(service.last?.bearer == "secret" && service.last?.method == "POST")
        let asked = try JSONReader.read(service.last?.body ?? [])
        #expect(asked.member("environment") == "production" && asked.member("simulated") == nil)
        service.change { $0.consume = GateAnswer(status: 409, body: Array(#"{"code":"token.spent"}"#.utf8)) }
        #expect(await gate.judge(token: token).code == "token.spent")
        // A wrong credential of the server is not the app's fault.
        service.change { $0.consume = GateAnswer(status: 401, body: Array(#"{"code":"caller.unauthorized"}"#.utf8)) }
        #expect(await gate.judge(token: token).code == "token.unchecked")
        service.change { $0.isDown = true }
        #expect(await gate.judge(token: token).code == "token.unchecked")
    }
}
