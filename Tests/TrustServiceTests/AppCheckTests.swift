// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import Crypto
import DeviceSimulator
import Formats
import Foundation
import NIOConcurrencyHelpers
import TestSupport
import Testing
import TrustStores
import Vocabulary
import _CryptoExtras

@testable import TrustService

/// A simulated device with the client of Firebase App Check in its app, as far as the wire goes.
struct AppCheckPhone {
    static let id = "1:1234567890:ios:321abc456def7890"
    static let project = "projects/1234567890"

    let phone: Phone
    let service: RunningService
    /// The spelling of names: Google's client writes snake case, its discovery documents camel case.
    var isSnake = true

    init(_ service: RunningService) async {
        self.service = service
        phone = await Phone(service)
    }

    static func path(_ verb: String, app: String = id, project: String = project) -> String {
        "/v1/\(project)/apps/\(app):\(verb)"
    }

    private func name(_ camel: String, _ snake: String) -> String { isSnake ? snake : camel }

    func call(_ verb: String, _ members: [JSONValue.Member], app: String = id) async throws -> Reply {
        try await service.post(
            AppCheckPhone.path(verb, app: app), .object(members),
            headers: ["X-Goog-Api-Key": "any", "X-Ios-Bundle-Identifier": "com.example.shop"])
    }

    /// A challenge, asked for as the client does: no body, no content type.
    func challenge(app: String = id) async throws -> [UInt8] {
        let reply = try await RunningService.call(
            "POST", service.base + AppCheckPhone.path("generateAppAttestChallenge", app: app))
        guard reply.status == 200, let bytes = reply["challenge"]?.text.flatMap(Base64.decode) else {
            throw Failure("no challenge: \(reply.status)")
        }
        return bytes
    }

    /// The body of an exchange of a new key's attestation.
    func attestation(
        challenge given: [UInt8]? = nil, limitedUse: Bool = false
    ) async throws -> (keyId: String, body: [JSONValue.Member]) {
        let challenge: [UInt8]
        if let given { challenge = given } else { challenge = try await self.challenge() }
        let keyId = try await phone.device.generateKey(for: phone.app)
        let object = try await phone.device.attestKey(
            keyId, clientDataHash: SHA256.hash(data: challenge).map { $0 }, for: phone.app, at: service.clock.now)
        return (
            keyId,
            [
                .init(name("keyId", "key_id"), .string(keyId)),
                .init(name("attestationStatement", "attestation_statement"), .string(Base64.encode(object))),
                .init("challenge", .string(Base64.encode(challenge))),
                .init(name("limitedUse", "limited_use"), .bool(limitedUse)),
            ]
        )
    }

    /// A new key with its artifact and first token.
    func attested() async throws -> (keyId: String, artifact: [UInt8], token: String) {
        let (keyId, body) = try await attestation()
        let reply = try await call("exchangeAppAttestAttestation", body)
        guard reply.status == 200, let artifact = reply["artifact"]?.text.flatMap(Base64.decode),
            let token = reply["appCheckToken"]?.member("token")?.text
        else { throw Failure("not attested: \(String(decoding: reply.body, as: UTF8.self))") }
        return (keyId, artifact, token)
    }

    /// The body of an exchange of an assertion over artifact and challenge.
    func assertion(
        _ keyId: String, _ artifact: [UInt8], challenge given: [UInt8]? = nil, limitedUse: Bool = false,
        fault: AssertionFault? = nil
    ) async throws -> [JSONValue.Member] {
        let challenge: [UInt8]
        if let given { challenge = given } else { challenge = try await self.challenge() }
        let assertion = try await phone.device.generateAssertion(
            keyId, clientDataHash: SHA256.hash(data: artifact + challenge).map { $0 }, for: phone.app, fault: fault)
        return [
            .init("artifact", .string(Base64.encode(artifact))), .init("challenge", .string(Base64.encode(challenge))),
            .init("assertion", .string(Base64.encode(assertion))),
            .init(name("limitedUse", "limited_use"), .bool(limitedUse)),
        ]
    }

    /// Its verdict: the status, and Google's name of it.
    static func verdict(_ reply: Reply) -> String {
        guard let error = reply["error"] else { return "\(reply.status)" }
        let isWhole =
            error.member("code") == .integer(reply.status) && error.member("message")?.text?.isEmpty == false
            && reply.headers["content-type"] == "application/json"
        return "\(reply.status) \(error.member("status")?.text ?? "")\(isWhole ? "" : " with a wrong form")"
    }
}

/// What Google's programs read of a token.
private struct Claims: Decodable {
    var iss: String
    var sub: String
    var aud: [String]
    var iat: Int
    var exp: Int
    var jti: String
    var provider: String
    var sim: Bool?
}

@Suite struct AppCheckTests {
    static let key: _RSA.Signing.PrivateKey = {
        // The key of all tests; a failure here fails each of them.
        // swift-format-ignore: NeverUseForceTry
        try! _RSA.Signing.PrivateKey(keySize: .bits2048)
    }()

    static func configuration(
        _ change: (inout Configuration) -> Void = { _ in }, appCheck: (inout Configuration.AppCheck) -> Void = { _ in }
    ) -> Configuration {
        RunningService.configuration {
            var settings = Configuration.AppCheck(
                projectNumber: "1234567890", projectId: "shop-project", keyPEMs: [key.pemRepresentation],
                apps: [AppCheckPhone.id: "shop"])
            settings.simulated = .allow
            appCheck(&settings)
            $0.appCheck = settings
            change(&$0)
        }
    }

    /// Reads a token with the published keys and a library of others.
    private static func claims(_ token: String, _ service: RunningService) async throws -> Claims {
        let published = try await service.get("/v1/jwks")
        return try PyJWT.claims(of: token, keys: published.body, as: Claims.self)
    }

    @Test(.enabled(if: PyJWT.isThere, PyJWT.needs), arguments: [true, false])
    func anAppGetsTokensAsFromGoogle(_ isSnake: Bool) async throws {
        try await RunningService.with(Self.configuration()) { service in
            var phone = await AppCheckPhone(service)
            phone.isSnake = isSnake
            let asked = try await RunningService.call(
                "POST",
                service.base + AppCheckPhone.path("generateAppAttestChallenge", project: "projects/shop-project"))
            #expect(asked.status == 200)
            #expect(asked["ttl"] == "300s")
            let (keyId, body) = try await phone.attestation()
            let attested = try await phone.call("exchangeAppAttestAttestation", body)
            #expect(attested.status == 200)
            let first = try #require(attested["appCheckToken"]?.member("token")?.text)
            #expect(attested["appCheckToken"]?.member("ttl") == "3600s")
            let artifact = try #require(attested["artifact"]?.text.flatMap(Base64.decode))
            let claims = try await Self.claims(first, service)
            #expect(claims.iss == "https://firebaseappcheck.googleapis.com/1234567890")
            #expect(claims.aud == ["projects/1234567890", "projects/shop-project"])
            #expect(claims.sub == AppCheckPhone.id && claims.provider == "device_check_app_attest")
            #expect(claims.exp - claims.iat == 3600 && !claims.jti.isEmpty && claims.sim == true)
            let asserted = try await phone.call(
                "exchangeAppAttestAssertion", try await phone.assertion(keyId, artifact))
            #expect(asserted.status == 200)
            #expect(asserted["ttl"] == "3600s")
            let second = try await Self.claims(try #require(asserted["token"]?.text), service)
            #expect(second.jti != claims.jti && second.sub == claims.sub)
            // One store and one rule for counters: the key serves the service's own interface as well.
            #expect(try await phone.phone.assert(try await phone.phone.assertion(keyId)).status == 200)
        }
    }

    /// Google's JSON takes bytes in either alphabet of base64, padded or not.
    @Test func bytesMayBeInTheURLAlphabet() async throws {
        try await RunningService.with(Self.configuration()) { service in
            let phone = await AppCheckPhone(service)
            let (_, body) = try await phone.attestation()
            let members = body.map { member in
                guard let bytes = member.value.text.flatMap(Base64.decode) else { return member }
                return JSONValue.Member(member.name, .string(Base64.encodeURL(bytes)))
            }
            #expect(try await phone.call("exchangeAppAttestAttestation", members).status == 200)
        }
    }

    /// The app's client reads no more than the members of Google's own answers.
    @Test(
        .enabled(if: FileManager.default.fileExists(atPath: Self.recorded.path), "needs the recorded answers"),
        arguments: [
            ("AppAttestResponseSuccess", "challenge"), ("AppAttestAttestationResponseSuccess", "attestation"),
            ("FACTokenExchangeResponseSuccess", "assertion"),
        ]
    )
    func answersHaveTheMembersOfRecordedOnes(_ file: String, _ kind: String) async throws {
        let recorded = try JSONReader.read(
            Array(try Data(contentsOf: Self.recorded.appendingPathComponent("\(file).json"))))
        try await RunningService.with(Self.configuration()) { service in
            let phone = await AppCheckPhone(service)
            var reply = try await RunningService.call(
                "POST", service.base + AppCheckPhone.path("generateAppAttestChallenge"))
            if kind == "attestation" {
                reply = try await phone.call("exchangeAppAttestAttestation", try await phone.attestation().body)
            } else if kind == "assertion" {
                let (keyId, artifact, _) = try await phone.attested()
                reply = try await phone.call("exchangeAppAttestAssertion", try await phone.assertion(keyId, artifact))
            }
            #expect(Self.shape(reply.json) == Self.shape(recorded))
        }
    }

    private static let recorded = BuiltProgram.repository.appendingPathComponent("Tests/Vectors/app-check")

    /// The names of a document, without its values.
    private static func shape(_ value: JSONValue) -> [String] {
        (value.members ?? []).flatMap { member in
            [member.name] + shape(member.value).map { "\(member.name).\($0)" }
        }.sorted()
    }

    /// Whatever is wrong with a proof is 403: the client forgets its key and attests anew.
    @Test func refusedProofsAre403AndChangeNothing() async throws {
        let clock = TestClock()
        try await RunningService.with(Self.configuration(), clock: clock) { service in
            let phone = await AppCheckPhone(service)
            func expect403(_ what: String, _ verb: String, _ body: [JSONValue.Member]) async throws {
                let reply = try await phone.call(verb, body)
                #expect(AppCheckPhone.verdict(reply) == "403 PERMISSION_DENIED", "\(what)")
            }
            let (attest, assert) = ("exchangeAppAttestAttestation", "exchangeAppAttestAssertion")
            func changing(_ body: [JSONValue.Member], _ name: String, _ value: String) -> [JSONValue.Member] {
                body.map { $0.name == name ? JSONValue.Member(name, .string(value)) : $0 }
            }
            let (keyId, artifact, _) = try await phone.attested()

            let (_, fresh) = try await phone.attestation()
            try await expect403("no attestation", attest, changing(fresh, "attestation_statement", "AAAA"))
            try await expect403(
                "another challenge", attest, changing(fresh, "challenge", Base64.encode(try await phone.challenge())))
            try await expect403(
                "no challenge of ours", attest,
                changing(fresh, "challenge", Base64.encode([UInt8](repeating: 1, count: 56))))
            #expect(try await phone.call(attest, fresh).status == 200)
            try await expect403("the same again", attest, fresh)
            let native = try await phone.phone.challenge("attest")
            try await expect403("a native challenge", attest, try await phone.attestation(challenge: native).body)
            phone.phone.faults.next.withLockedValue { $0 = .otherApp }
            try await expect403("another app", attest, try await phone.attestation().body)
            phone.phone.faults.next.withLockedValue { $0 = nil }
            let (_, late) = try await phone.attestation()

            let good = try await phone.assertion(keyId, artifact)
            try await expect403("no assertion", assert, changing(good, "assertion", "AAAA"))
            try await expect403(
                "a changed artifact", assert,
                changing(good, "artifact", Base64.encode(artifact.dropLast() + [artifact[61] ^ 1])))
            try await expect403(
                "Google's artifact", assert,
                changing(good, "artifact", Base64.encode(Array("an artifact of Google".utf8))))
            let other = try await phone.attested()
            try await expect403("another key's artifact", assert, try await phone.assertion(keyId, other.artifact))
            try await expect403(
                "another challenge", assert, changing(good, "challenge", Base64.encode(try await phone.challenge())))
            #expect(try await phone.call(assert, good).status == 200)
            try await expect403("the same again", assert, good)
            let asserting = try await phone.phone.challenge("assert")
            try await expect403(
                "a native challenge", assert, try await phone.assertion(keyId, artifact, challenge: asserting))
            // And App Check's challenge is nothing to the native interface.
            let exchange = try await phone.challenge()
            let refused = try await phone.phone.assert(try await phone.phone.assertion(keyId, challenge: exchange))
            #expect(refused.verdict == "409 challenge.binding")

            let spare = try await phone.assertion(keyId, artifact)
            clock.advance(301)
            try await expect403("a late attestation", attest, late)
            try await expect403("a late assertion", assert, spare)

            _ = try await service.revoke(keyId)
            try await expect403("a revoked key", assert, try await phone.assertion(keyId, artifact))
            for name in ["exchangeDebugToken", "exchangeDeviceCheckToken"] {
                let reply = try await phone.call(name, [.init("debug_token", "x"), .init("device_token", "AAAA")])
                #expect(reply.status == (name == "exchangeDebugToken" ? 403 : 503), "\(name)")
            }
        }
    }

    /// An artifact does not last for ever, however often it is used.
    @Test func artifactsEnd() async throws {
        let clock = TestClock()
        try await RunningService.with(Self.configuration(), clock: clock) { service in
            let phone = await AppCheckPhone(service)
            let (keyId, artifact, _) = try await phone.attested()
            for (wait, verdict) in [(366 * 86_400.0 - 60, "200"), (120, "403 PERMISSION_DENIED")] {
                clock.advance(wait)
                let reply = try await phone.call(
                    "exchangeAppAttestAssertion", try await phone.assertion(keyId, artifact))
                #expect(AppCheckPhone.verdict(reply) == verdict)
            }
        }
    }

    /// 400 and 404 silence an app for a day: they are for what can never become right.
    @Test func whatNeverBecomesRightIs400Or404() async throws {
        try await RunningService.with(Self.configuration()) { service in
            let phone = await AppCheckPhone(service)
            let (_, body) = try await phone.attestation()
            func post(_ path: String, _ text: String, type: String? = "application/json") async throws -> String {
                AppCheckPhone.verdict(
                    try await RunningService.call("POST", service.base + path, body: Array(text.utf8), type: type))
            }
            let path = AppCheckPhone.path("exchangeAppAttestAttestation")
            for text in ["{", "[]", "{}", #"{"key_id": 1}"#, #"{"key_id": "AAAA", "keyId": "AAAA"}"#] {
                #expect(try await post(path, text) == "400 INVALID_ARGUMENT", "\(text)")
            }
            #expect(try await post(path, "{}", type: "text/plain") == "400 INVALID_ARGUMENT")
            #expect(try await post(path, String(repeating: " ", count: 70_000)) == "400 INVALID_ARGUMENT")
            let spoiled = body.map { $0.name == "challenge" ? JSONValue.Member("challenge", "not base64!") : $0 }
            #expect(
                AppCheckPhone.verdict(try await phone.call("exchangeAppAttestAttestation", spoiled))
                    == "400 INVALID_ARGUMENT")
            for (app, project) in [
                ("1:1234567890:ios:aaaaaaaa", "projects/1234567890"), (AppCheckPhone.id, "projects/1"),
                ("shop", "projects/shop-project"),
            ] {
                let path = AppCheckPhone.path("generateAppAttestChallenge", app: app, project: project)
                #expect(try await post(path, "{}") == "404 NOT_FOUND", "\(path)")
            }
            // The same body, unspoiled, is good: nothing was changed by what was refused.
            #expect(try await phone.call("exchangeAppAttestAttestation", body).status == 200)
        }
    }

    @Test func faultsOfOursAre503AndLimitsAre429() async throws {
        let store = FaultyStore { verb in
            if verb == "attestationStanding" || verb == "consume" { throw StoreFault.unavailable("away") }
        }
        try await RunningService.with(Self.configuration(), store: store) { service in
            let phone = await AppCheckPhone(service)
            let away = try await phone.call("exchangeAppAttestAttestation", try await phone.attestation().body)
            #expect(AppCheckPhone.verdict(away) == "503 UNAVAILABLE")
            #expect(away.headers["retry-after"] != nil)
            // No account with Apple is a fault of ours too.
            let apple = try await phone.call("exchangeDeviceCheckToken", [.init("device_token", "AAAA")])
            #expect(AppCheckPhone.verdict(apple) == "503 UNAVAILABLE")
        }
        let narrow = Self.configuration { $0.limits.requestsPerSecondPerApp = 1 }
        try await RunningService.with(narrow) { service in
            var verdicts: Set<String> = []
            for _ in 0..<6 {
                let path = AppCheckPhone.path("generateAppAttestChallenge")
                verdicts.insert(AppCheckPhone.verdict(try await service.post(path, [:])))
            }
            #expect(verdicts == ["200", "429 RESOURCE_EXHAUSTED"])
            // The limit is the app's, whichever interface is asked.
            #expect(try await service.post("/v1/apps/shop/challenges", ["purpose": "attest"]).status == 429)
        }
    }

    @Test(arguments: [(Configuration.Mode.monitor, 403), (.off, 503), (.enforce, 403)])
    func noModeGivesATokenForARefusedProof(_ mode: Configuration.Mode, _ status: Int) async throws {
        let settings = Self.configuration { $0.apps[0].mode = mode }
        try await RunningService.with(settings) { (service) async throws in
            let phone = await AppCheckPhone(service)
            let body: [JSONValue.Member] = [
                .init("key_id", .string(Base64.encode([UInt8](repeating: 1, count: 32)))),
                .init("attestation_statement", "AAAA"), .init("challenge", "AAAA"),
            ]
            #expect(try await phone.call("exchangeAppAttestAttestation", body).status == status)
        }
    }

    @Test func simulatedKeysAreRefusedUnlessAllowed() async throws {
        let settings = Self.configuration(appCheck: { $0.simulated = .refuse })
        try await RunningService.with(settings) { service in
            let phone = await AppCheckPhone(service)
            let (keyId, body) = try await phone.attestation()
            let refused = try await phone.call("exchangeAppAttestAttestation", body)
            #expect(AppCheckPhone.verdict(refused) == "403 PERMISSION_DENIED")
            #expect(try await service.store.key(try #require(KeyIdentifier(base64: keyId))) == nil)
        }
    }

    /// Also what no route answers has Google's form, and the limit of whoever asks for it.
    @Test func unknownMethodsHaveGooglesForm() async throws {
        func verdict(_ service: RunningService, _ method: String, _ path: String) async throws -> (String, Reply) {
            let reply = try await RunningService.call(method, service.base + path)
            return (AppCheckPhone.verdict(reply), reply)
        }
        try await RunningService.with(Self.configuration()) { service in
            let app = "/v1/\(AppCheckPhone.project)/apps/\(AppCheckPhone.id)"
            for path in [
                app + ":exchangeRecaptchaToken", app, "/v1/projects", "/v1/projects/", "/v1beta/projects/x:y",
                app + "/debugTokens/a/b/c/d/e/f/g/h", "/v1/projects/1234567890:verifyappchecktoken",
            ] {
                for method in ["POST", "GET", "DELETE"] {
                    let (verdict, reply) = try await verdict(service, method, path)
                    #expect(verdict == "404 NOT_FOUND", "\(method) \(path)")
                    #expect(reply.headers["content-type"] == "application/json", "\(method) \(path)")
                    #expect(reply["error"]?.members?.first { $0.name == "code" }?.value == 404)
                }
            }
            for (method, path, allow) in [
                ("GET", app + ":generateAppAttestChallenge", "POST"), ("DELETE", "/v1/jwks", "GET, HEAD"),
                ("PUT", "/v1beta/projects/1234567890:verifyAppCheckToken", "POST"),
            ] {
                let (verdict, reply) = try await verdict(service, method, path)
                #expect(verdict == "405 UNIMPLEMENTED" && reply.headers["allow"] == allow, "\(method) \(path)")
            }
            for path in ["/v1/projectsX", "/v1/jwksX", "/v1beta/apps", "/v1/%70rojects/1"] {
                #expect(try await service.post(path, [:]).verdict == "404 path.unknown", "\(path)")
            }
        }
        let narrow = Self.configuration { $0.limits.requestsPerSecondPerAddress = 1 }
        try await RunningService.with(narrow) { service in
            var verdicts: Set<String> = []
            for _ in 0..<6 { verdicts.insert(try await verdict(service, "POST", "/v1/projects/1:x").0) }
            #expect(verdicts == ["404 NOT_FOUND", "429 RESOURCE_EXHAUSTED"])
        }
    }

    @Test func theInterfaceIsOffUnlessConfigured() async throws {
        try await RunningService.with { service in
            #expect(try await service.get("/v1/jwks").verdict == "404 path.unknown")
            let path = AppCheckPhone.path("generateAppAttestChallenge")
            #expect(try await service.post(path, [:]).verdict == "404 path.unknown")
            // A header of the app's other backends is nothing to a service without App Check.
            let (phone, keyId) = try await Phone.attested(service)
            let passed = try await RunningService.call(
                "GET", service.base + "/v1/authorize?simulated=allow", token: try await phone.token(keyId),
                headers: ["X-Firebase-AppCheck": "eyJ"])
            #expect(passed.status == 204)
        }
    }
}
