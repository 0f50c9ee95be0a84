// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import Crypto
import DeviceSimulator
import Formats
import Foundation
import NIOConcurrencyHelpers
import Testing
import TrustStores
import Vocabulary

@testable import HTTPService
@testable import TrustService

@Suite struct CredentialsTests {
    private func named(
        _ name: String, _ token: String, _ scopes: [String], expires: Date? = nil
    ) throws
        -> NamedCredential
    {
        let digest = Array(SHA256.hash(data: Data(token.utf8)))
        return try #require(NamedCredential(name: name, digest: digest, scopes: scopes, expires: expires))
    }

    @Test func aScopePermitsItsRoleAndItsAppsAlone() throws {
        let now = Date()
        var settings = Configuration()
        settings.serverTokens = CredentialSource(tokens: ["s"])
        settings.adminTokens = CredentialSource(tokens: ["a"])
        settings.namedCredentials = [
            try named("ci", "1", ["server:shop", "server:bank"]), try named("ops", "2", ["admin:shop"]),
            try named("audit", "3", ["audit"]), try named("old", "4", ["admin"], expires: now),
            try named("reader", "5", ["read", "revoke:shop"]),
        ]
        let credentials = Credentials(settings)
        func caller(_ token: String?) -> Authority { credentials.caller(bearer: token, at: now) }
        #expect(caller(nil) == .anyone && caller("x") == .anyone && caller("4") == .anyone)
        #expect(credentials.caller(bearer: "4", at: now.addingTimeInterval(-1)).permits(.admin, app: nil))
        #expect(caller("s").permits(.server, app: nil) && !caller("s").has(.admin) && !caller("s").has(.audit))
        for role in Authority.Role.allCases { #expect(caller("a").permits(role, app: nil)) }
        #expect(caller("1").permits(.server, app: "shop") && caller("1").permits(.server, app: "bank"))
        #expect(!caller("1").permits(.server, app: "other") && !caller("1").permits(.server, app: nil))
        #expect(caller("2").permits(.server, app: "shop") && caller("2").permits(.audit, app: "shop"))
        #expect(!caller("2").permits(.admin, app: "bank"))
        #expect(caller("5").permits(.read, app: nil) && caller("5").permits(.revoke, app: "shop"))
        #expect(!caller("5").permits(.revoke, app: "bank") && !caller("5").has(.admin) && !caller("5").has(.server))
        #expect(caller("5").roles == "read, revoke")
        #expect(caller("3").permits(.audit, app: nil) && !caller("3").has(.admin) && !caller("3").has(.server))
    }

    @Test(arguments: [[], ["root"], ["server:"], ["admin", ""], [":shop"], ["Server"], ["reads"]] as [[String]])
    func wrongScopesAreNone(_ scopes: [String]) {
        #expect(
            NamedCredential(name: "n", digest: [UInt8](repeating: 0, count: 32), scopes: scopes, expires: nil) == nil)
    }

    @Test func aNewTokenIsKnownByItsEntry() throws {
        let made = try #require(
            NewToken(name: "ci", scopes: ["server"], expires: nil, random: [UInt8](repeating: 5, count: 32)))
        #expect(made.token.utf8.count >= CredentialSource.minimumLength)
        let file = "[" + made.entry.rendered(pretty: false) + "]"
        let outcome = ConfigurationReader.read(file: Array(#"{"tokensFile": "t"}"#.utf8), environment: [:]) {
            _ throws(UnreadableFile) in Array(file.utf8)
        }
        guard case .configuration(let settings) = outcome else { throw Failure("refused: \(outcome)") }
        let caller = Credentials(settings).caller(bearer: made.token, at: Date())
        #expect(caller.name == "ci" && caller.permits(.server, app: nil))
        #expect(
            NewToken(name: "a b", scopes: ["server"], expires: nil, random: [UInt8](repeating: 5, count: 32)) == nil)
        #expect(NewToken(name: "a", scopes: ["sever"], expires: nil, random: [UInt8](repeating: 5, count: 32)) == nil)
    }

    @Test func everyFaultOfATokensFileIsNamed() {
        let hash = String(repeating: "ab", count: 32)
        let file = """
            [{"name": "a b", "sha256": "\(hash)", "scopes": ["server"]}, {"sha256": "00", "scopes": []},
             {"name": "c", "sha256": "\(hash)", "scopes": ["root"], "expires": "soon", "color": 1},
             {"name": "d", "sha256": "\(hash)", "scopes": ["audit"]}]
            """
        let outcome = ConfigurationReader.read(file: Array(#"{"tokensFile": "t"}"#.utf8), environment: [:]) {
            _ throws(UnreadableFile) in Array(file.utf8)
        }
        guard case .issues(let issues) = outcome else { return #expect(Bool(false), "accepted") }
        let paths = Set(issues.map(\.path))
        let wanted: Set = [
            "tokensFile[0].name", "tokensFile[1].name", "tokensFile[1].sha256", "tokensFile[2].scopes",
            "tokensFile[2].expires", "tokensFile[2].color", "tokensFile[3].sha256",
        ]
        #expect(wanted.subtracting(paths).isEmpty, "\(paths)")
    }
}

/// What operators may see and change, under whose name.
@Suite(.serialized) struct OperatorTests {
    private static func token(_ name: String) -> String { "token-of-\(name)-0123456789012345678901234567890123456789" }

    private static func configuration() -> Configuration {
        var configuration = AuthorizationTests.configuration()
        configuration.namedCredentials = [
            ("ci", ["server:shop"]), ("ops", ["admin:shop"]), ("audit", ["audit"]), ("shop-audit", ["audit:shop"]),
            ("reader", ["read"]), ("shop-reader", ["read:shop"]), ("revoker", ["revoke"]),
            ("shop-revoker", ["revoke:shop"]),
        ].compactMap { name, scopes in
            NamedCredential(
                name: name, digest: Array(SHA256.hash(data: Data(token(name).utf8))), scopes: scopes, expires: nil)
        }
        return configuration
    }

    private func path(_ keyId: String) -> String { RunningService.path(keyId) }

    private func keys(_ reply: Reply) -> [JSONValue] {
        if case .array(let keys)? = reply["keys"] { return keys }
        return []
    }

    @Test func keysAreListedRevokedAndDeleted() async throws {
        try await RunningService.with(Self.configuration()) { service in
            let phone = await Phone(service)
            var ids: [String] = []
            for index in 0..<5 { ids.append(try await phone.attested(user: index < 3 ? "anna" : "bert")) }
            let admin = RunningService.adminToken
            let all = try await service.get("/v1/keys?app=shop", token: admin)
            #expect(Set(keys(all).compactMap { $0.member("keyId")?.text }) == Set(ids))
            #expect(all["next"] == .null)
            // Pages join without gap or repeat.
            var seen: [String] = []
            var after = ""
            for _ in 0..<10 {
                let page = try await service.get("/v1/keys?limit=2\(after)", token: admin)
                seen += keys(page).compactMap { $0.member("keyId")?.text }
                guard let next = page["next"]?.text else { break }
                after = "&after=" + Data(next.utf8).map { String(format: "%%%02X", $0) }.joined()
            }
            #expect(seen.count == 5 && Set(seen) == Set(ids))
            #expect(keys(try await service.get("/v1/keys?user=anna", token: admin)).count == 3)
            #expect(keys(try await service.get("/v1/keys?environment=development", token: admin)).isEmpty)
            for query in ["limit=0", "limit=1001", "after=x", "environment=x", "usr=anna", "app=shop&app=bank"] {
                #expect(try await service.get("/v1/keys?\(query)", token: admin).verdict == "400 request.malformed")
            }
            // A credential for one app names it, and sees no other's keys.
            let ops = Self.token("ops")
            #expect(try await service.get("/v1/keys", token: ops).verdict == "401 caller.unauthorized")
            #expect(try await service.get("/v1/keys?app=bank", token: ops).verdict == "401 caller.unauthorized")
            #expect(try await service.get("/v1/keys?app=shop", token: ops).status == 200)
            #expect(try await service.get("/v1/apps/bank/risk", token: ops).verdict == "401 caller.unauthorized")

            // A dry run and a wrong expectation revoke nothing.
            let revocations = "/v1/apps/shop/revocations"
            let dry = try await service.post(revocations, ["user": "bert", "dryRun": true], token: admin)
            #expect(dry.status == 200 && dry["wouldRevoke"] == .integer(2))
            for number in [0, 1, 3] {
                let body: JSONValue = ["user": "bert", "expect": .integer(number)]
                let other = try await service.post(revocations, body, token: admin)
                #expect(other.verdict == "409 revocation.count")
            }
            let log = try await service.get("/v1/audit", token: Self.token("audit"))
            let audit = String(decoding: log.body, as: UTF8.self)
            #expect(audit.contains("app=shop dryRun user") && !audit.contains("\"app=shop user"))

            let rules: [(JSONValue, Int)] = [
                (["user": "bert", "dryRun": false, "expect": 2], 2), (["user": "bert"], 0),
                (["environment": "development"], 0),
                (["attestedBefore": "2020-01-01"], 0), (["simulated": true], 3), (["attestedBefore": "2099-01-01"], 0),
            ]
            for (rule, count) in rules {
                let reply = try await service.post("/v1/apps/shop/revocations", rule, token: admin)
                #expect(reply["revoked"] == .integer(count), "\(rule)")
            }
            for body in [
                [:], ["user": "a", "simulated": true], ["simulated": false], ["environment": "x"],
                ["user": "a", "expect": -1], ["user": "a", "expect": "2"],
                ["user": "a", "dryRun": 1],
            ]
                as [JSONValue]
            {
                let reply = try await service.post("/v1/apps/shop/revocations", body, token: admin)
                #expect(reply.verdict == "400 request.malformed")
            }
            let revoked = try await phone.assert(try await phone.assertion(ids[0]))
            #expect(revoked.verdict == "403 key.revoked")

            #expect(try await service.delete(path(ids[4])).status == 204)
            #expect(try await service.delete(path(ids[4])).verdict == "404 key.unknown")
            #expect(try await service.delete("/v1/users/anna", token: ops).verdict == "401 caller.unauthorized")
            #expect(try await service.delete("/v1/users/anna?app=shop", token: ops)["deleted"] == .integer(3))
            #expect(try await service.delete("/v1/users/anna")["deleted"] == .integer(0))
            #expect(keys(try await service.get("/v1/keys", token: admin)).count == 1)
            // Who was deleted is an unknown key to apps.
            let gone = try await phone.assert(try await phone.assertion(ids[0]))
            #expect(gone.verdict == "404 key.unknown")
        }
    }

    /// A leaked token does what its scope says and no more: a reader cannot revoke, and a revoker can neither look nor delete.
    @Test func eachScopeOpensItsRoutesAlone() async throws {
        try await RunningService.with(Self.configuration()) { service in
            let keyId = try await Phone(service).attested(user: "anna")
            let key = path(keyId)
            typealias Ask = @Sendable (String) async throws -> Reply
            let asks: [(what: String, opens: Set<String>, ask: Ask)] = [
                (
                    "list of one app", ["reader", "shop-reader", "ops"],
                    { try await service.get("/v1/keys?app=shop", token: $0) }
                ),
                ("list of all", ["reader"], { try await service.get("/v1/keys", token: $0) }),
                ("key", ["reader", "shop-reader", "ops"], { try await service.get(key, token: $0) }),
                ("risk", ["reader", "shop-reader", "ops"], { try await service.get("/v1/apps/shop/risk", token: $0) }),
                ("risk of another app", ["reader"], { try await service.get("/v1/apps/bank/risk", token: $0) }),
                (
                    "dry run", ["revoker", "shop-revoker", "ops"],
                    {
                        try await service.post(
                            "/v1/apps/shop/revocations", ["attestedBefore": "2099-01-01", "dryRun": true], token: $0)
                    }
                ),
                (
                    "dry run on another app", ["revoker"],
                    {
                        try await service.post(
                            "/v1/apps/bank/revocations", ["user": "anna", "dryRun": true], token: $0)
                    }
                ),
                ("challenge key", [], { try await service.post("/v1/challenge-keys/rotate", [:], token: $0) }),
                ("audit", ["audit", "shop-audit", "ops"], { try await service.get("/v1/audit", token: $0) }),
                ("deletion", [], { try await service.delete(key, token: $0) }),
                ("user", [], { try await service.delete("/v1/users/anna", token: $0) }),
            ]
            let names = ["ci", "reader", "shop-reader", "revoker", "shop-revoker", "audit", "shop-audit"]
            for (what, opens, ask) in asks {
                for name in names + (opens.contains("ops") ? ["ops"] : []) {
                    let reply = try await ask(Self.token(name))
                    #expect(
                        reply.verdict == (opens.contains(name) ? "200" : "401 caller.unauthorized"), "\(name): \(what)")
                }
            }
            let revoked = try await service.post(key + "/revoke", [:], token: Self.token("reader"))
            #expect(revoked.verdict == "401 caller.unauthorized")
            #expect(try await service.post(key + "/revoke", [:], token: Self.token("shop-revoker")).status == 200)
        }
    }

    /// A wrong revocation is undone for a day; what was deleted stays refused, and leaves nothing that leads to it.
    @Test func aRevokedKeyIsRestoredWithinADayAndStaysRefusedOnceDeleted() async throws {
        try await RunningService.with(Self.configuration()) { service in
            let (phone, keyId) = try await Phone.attested(service, user: "anna")
            let key = path(keyId)
            let revoker = Self.token("shop-revoker")
            let token = try await phone.token(keyId)
            func shown() async throws -> Reply { try await service.get(key, token: Self.token("reader")) }
            func restore(_ token: String = revoker) async throws -> Reply {
                try await RunningService.call("POST", service.base + key + "/restore", token: token)
            }
            func authorized() async throws -> String {
                try await service.get("/v1/authorize?simulated=allow", token: token).verdict
            }
            #expect(try await restore()["revoked"] == .bool(false))
            #expect(try await service.post(key + "/revoke", ["code": "mistake"], token: revoker).status == 200)
            #expect(try await shown()["revokedAt"]?.text != nil)
            #expect(try await authorized() == "403 key.revoked")
            for name in ["reader", "ci", "audit"] {
                #expect(try await restore(Self.token(name)).verdict == "401 caller.unauthorized")
            }
            let back = try await restore()
            #expect(back.status == 200 && back["keyId"] == .string(keyId) && back["revoked"] == .bool(false))
            #expect(try await shown()["revokedAt"] == .null)
            #expect(try await authorized() == "204")
            let again = try await service.post("/v1/apps/shop/tokens", try await phone.assertion(keyId))
            guard case .array(let reasons)? = again["reasons"] else { throw Failure("no reasons: \(again)") }
            #expect(again.status == 200 && reasons.contains("restored"))
            #expect(again["tier"]?.text != "low")

            #expect(try await service.post(key + "/revoke", [:], token: revoker).status == 200)
            service.clock.advance(86_401)
            #expect(try await restore().verdict == "403 key.revoked")
            #expect(try await shown()["revoked"] == .bool(true))
            #expect(try await service.delete("/v1/users/anna")["deleted"] == .integer(1))
            #expect(try await restore(RunningService.adminToken).verdict == "404 key.unknown")
            let id = try #require(KeyIdentifier(strictBase64: keyId))
            #expect(try await service.store.history(of: id, limit: 9).isEmpty)
        }
    }

    /// A device that kept an attestation back does not come in with it after its revoked key was deleted.
    @Test func aDeletedRevokedKeyCannotBeAttestedAgain() async throws {
        try await RunningService.with(Self.configuration()) { service in
            let admin = RunningService.adminToken
            for (seed, isRevoked) in [(1, true), (2, false)] as [(UInt64, Bool)] {
                // The second one has the key of the first, which Apple certifies a second time.
                let phone = await Phone(service, random: SimulatorRandom(seed: seed))
                let keyId = try await phone.attested()
                let other = await Phone(service, random: SimulatorRandom(seed: seed))
                let (same, body) = try await other.attestation()
                try #require(same == keyId)
                if isRevoked {
                    #expect(try await service.post(path(keyId) + "/revoke", [:], token: admin).status == 200)
                }
                #expect(try await service.post("/v1/apps/shop/attestations", body).verdict == "409 key.exists")
                #expect(try await service.delete(path(keyId)).status == 204)
                let again = try await service.post("/v1/apps/shop/attestations", body)
                #expect(again.verdict == (isRevoked ? "403 key.revoked" : "201"))
                let assertion = try await other.assert(try await other.assertion(keyId))
                #expect(assertion.verdict == (isRevoked ? "404 key.unknown" : "200"))
            }
        }
    }

    /// Guesses at the routes of servers and operators have a limit of their own, and a good token has none.
    @Test func wrongTokensAreLimitedAndGoodOnesAreNot() async throws {
        var settings = Self.configuration()
        settings.limits.requestsPerSecondPerAddress = 200
        try await RunningService.with(settings) { service in
            var verdicts: [String: Int] = [:]
            for guess in 0..<200 where verdicts["429 limit.address"] == nil {
                verdicts[try await service.get("/v1/keys", token: "guess-\(guess)").verdict, default: 0] += 1
            }
            #expect(
                verdicts["429 limit.address"] == 1 && (verdicts["401 caller.unauthorized"] ?? 0) >= 100, "\(verdicts)")
            #expect(try await service.get("/v1/keys", token: Self.token("reader")).status == 200)
            // Who sends none guesses nothing.
            #expect(try await service.get("/v1/keys").verdict == "401 caller.unauthorized")
        }
    }

    @Test func moreThanAHundredKeysAreRevokedOnlyIfTheirNumberIsExpected() async throws {
        try await RunningService.with(Self.configuration()) { service in
            let now = service.clock.now
            for index in 0..<101 {
                let bytes = [UInt8](repeating: UInt8(index), count: 32)
                let record = KeyRecord(
                    id: try #require(KeyIdentifier(bytes: bytes)), publicKeyBytes: [4] + bytes + bytes, app: "shop",
                    identity: "TEAM123456.com.example.shop", environment: "production", simulated: true,
                    user: index == 0 ? "anna" : nil, attestationDigest: bytes, validationCategory: nil,
                    bundleVersion: nil, osVersion: nil)
                let receipt = ReceiptRecord(
                    bytes: [1], createdAt: now, notBefore: nil, expiresAt: nil, riskMetric: nil)
                let challenge = SpendableChallenge(id: Array(bytes.prefix(16)), expiresAt: now + 60)
                _ = try await service.store.insert(
                    KeyRegistration(record, receipt: receipt, refreshAt: nil), spending: challenge, at: now)
            }
            let replies: [(JSONValue, String, JSONValue?)] = [
                (["simulated": true], "409 revocation.count", nil),
                (["simulated": true, "expect": 100], "409 revocation.count", nil),
                (["simulated": true, "dryRun": true], "200", ["wouldRevoke": 101]),
                (["user": "anna"], "200", ["revoked": 1]),
                (["simulated": true, "expect": 101], "409 revocation.count", nil),
                (["simulated": true], "200", ["revoked": 100]),
            ]
            for (body, verdict, document) in replies {
                let reply = try await service.post(
                    "/v1/apps/shop/revocations", body, token: RunningService.adminToken)
                #expect(reply.verdict == verdict, "\(body)")
                if let document { #expect(try JSONReader.read(reply.body) == document, "\(body)") }
            }
        }
    }

    @Test func everyAcceptedCallIsInTheAuditUnderItsName() async throws {
        try await RunningService.with(Self.configuration()) { service in
            let (_, keyId) = try await Phone.attested(service, user: "anna")
            let (ops, ci) = (Self.token("ops"), Self.token("ci"))
            _ = try await service.get(path(keyId), token: ops)
            _ = try await service.post(path(keyId) + "/revoke", [:], token: RunningService.adminToken)
            _ = try await service.get(path(keyId), token: ci)
            // What was refused to a backend is not there.
            _ = try await service.post("/v1/tokens/consume", ["token": "x"], token: ci)
            _ = try await service.delete("/v1/users/anna")
            let reply = try await service.get("/v1/audit", token: Self.token("audit"))
            #expect(reply.headers["content-type"]?.hasPrefix("application/jsonl") == true)
            let lines = reply.body.split(separator: 10).compactMap { try? JSONReader.read(Array($0)) }
            let words = lines.map { line in
                ["name", "operation", "target", "outcome"].map { line.member($0)?.text ?? "" }.joined(separator: " ")
                    .replacing(#/u_[0-9a-f]{16}/#, with: "u_")
            }
            #expect(
                words == [
                    "ops showKey app=shop key:\(keyId) ok", "adminTokenFile revokeKey app=shop key:\(keyId) ok",
                    "ci showKey app=* key:\(keyId) refused:caller.unauthorized",
                    "adminTokenFile deleteUser app=* user:u_ ok",
                ]
            )
            #expect(!String(decoding: reply.body, as: UTF8.self).contains("anna"))
            // Reading is recorded too; a page goes on behind a number.
            guard case .integer(let last)? = lines.last?.member("number") else { throw Failure("no number") }
            let more = try await service.get("/v1/audit?after=\(last)", token: RunningService.adminToken)
            #expect(String(decoding: more.body, as: UTF8.self).contains("\"readAudit\""))
            // An answer that shows only readings is not: who follows the audit would read for ever.
            guard case .integer(let read)? = try JSONReader.read(Array(more.body.dropLast())).member("number") else {
                throw Failure("no number")
            }
            for number in [last, read, last] {
                _ = try await service.get("/v1/audit?after=\(number)", token: RunningService.adminToken)
            }
            #expect(
                try await service.get("/v1/audit?after=\(read)", token: RunningService.adminToken).body.isEmpty)
            let ofShop = try await service.get("/v1/audit?limit=3", token: Self.token("shop-audit"))
            #expect(ofShop.body.split(separator: 10).count == 2)
            for token in [ci, RunningService.serverToken] {
                #expect(try await service.get("/v1/audit", token: token).verdict == "401 caller.unauthorized")
            }
            #expect(
                try await service.get("/v1/audit?after=-1", token: RunningService.adminToken).verdict
                    == "400 request.malformed")
        }
    }

    @Test(.timeLimit(.minutes(5))) func linesSayFromWhereAndWhyAndAreAChain() async throws {
        try await RunningService.with(Self.configuration()) { service in
            let (_, keyId) = try await Phone.attested(service, user: "anna")
            let (ops, admin) = (Self.token("ops"), RunningService.adminToken)
            func lines() async throws -> [(text: [UInt8], entry: JSONValue)] {
                try await service.get("/v1/audit?limit=1000", token: admin).body.split(separator: 10)
                    .map { (Array($0), try JSONReader.read(Array($0))) }
            }
            _ = try await service.post(
                path(keyId) + "/revoke", [:], token: ops, headers: ["X-Audit-Reason": "ticket 4711"])
            let long = ["X-Audit-Reason": String(repeating: "x", count: 257)]
            let refused = try await service.post(path(keyId) + "/revoke", [:], token: ops, headers: long)
            #expect(refused.verdict == "400 request.malformed")
            let first = try await lines().map(\.entry)
            #expect(first.map { $0.member("reason")?.text } == ["ticket 4711", nil])
            #expect(first.map { $0.member("outcome")?.text } == ["ok", "refused:request.malformed"])
            #expect(first.allSatisfy { $0.member("address")?.text == "127.0.0.1" && $0.member("session") == .null })
            #expect(first.last?.member("correlationId") == refused["correlationId"])
            // Wrong tokens: the first is there at once, the others when their minute is over.
            for _ in 0..<20 { _ = try await service.get("/v1/keys", token: "wrong") }
            func failed() async throws -> [String] {
                try await lines().filter { $0.entry.member("name")?.text == "" }
                    .compactMap { $0.entry.member("target")?.text }
            }
            #expect(try await failed() == ["app=*"])
            service.clock.advance(61)
            while try await failed().count < 2 { try await Task.sleep(for: .milliseconds(100)) }
            #expect(try await failed() == ["app=*", "app=* repeated:19"])
            let chain = try await lines()
            for (line, next) in zip(chain, chain.dropFirst()) {
                let hash = SHA256.hash(data: Data(line.text)).map { String(format: "%02x", $0) }.joined()
                #expect(next.entry.member("previous")?.text == hash)
            }
            #expect(chain.first?.entry.member("previous")?.text == String(repeating: "0", count: 64))
        }
    }

    @Test func anAppsEntriesAreFoundBehindThoseOfOthers() async throws {
        try await RunningService.with(Self.configuration()) { service in
            func append(_ targets: [String]) async throws {
                try await service.store.append(
                    targets.map { AuditEntry(at: Date(), name: "ops", operation: "o", target: $0, outcome: "ok") })
            }
            for target in ["app=shop first", "app=shop last"] {
                for _ in 0..<3 { try await append(Array(repeating: "app=bank", count: 700)) }
                try await append([target])
            }
            func page(_ query: String) async throws -> [JSONValue] {
                try await service.get("/v1/audit?\(query)", token: Self.token("shop-audit")).body.split(separator: 10)
                    .compactMap { try? JSONReader.read(Array($0)) }
            }
            // Whoever reads on behind the last entry gets all of them, page by page.
            var (seen, after) = ([String](), "limit=1")
            while let entry = try await page(after).first, seen.count < 10 {
                seen.append(entry.member("target")?.text ?? "")
                guard case .integer(let number)? = entry.member("number") else { throw Failure("no number") }
                after = "limit=1&after=\(number)"
            }
            #expect(seen == ["app=shop first", "app=shop last"])
            #expect(try await page("limit=1000").count == 2)
        }
    }

    @Test func aServerCredentialForOneAppServesNoOther() async throws {
        try await RunningService.with(Self.configuration()) { service in
            let ci = Self.token("ci")
            func challenge(_ app: String) async throws -> String {
                try await service.post("/v1/apps/\(app)/challenges", ["purpose": "attest", "user": "anna"], token: ci)
                    .verdict
            }
            #expect(try await challenge("shop") == "201")
            #expect(try await challenge("bank") == "401 caller.unauthorized")
            let body: JSONValue = ["app": "bank", "deviceToken": "AAAA", "transactionId": "t"]
            for name in ["query", "validate"] {
                let reply = try await service.post("/v1/devicecheck/\(name)", body, token: ci)
                #expect(reply.verdict == "401 caller.unauthorized")
            }
            let token = try await AuthorizationTests.token(service, "bank", AuthorizationTests.bank)
            #expect(try await service.get("/v1/authorize?simulated=allow", token: token).status == 204)
        }
    }

    @Test func theChallengeKeyRotatesWithoutARefusal() async throws {
        try await RunningService.with { service in
            let (phone, keyId) = try await Phone.attested(service)
            let old = try await phone.challenge("assert")
            let admin = RunningService.adminToken
            let rotated = try await service.post("/v1/challenge-keys/rotate", [:], token: admin)
            #expect(rotated.status == 200)
            let again = try await service.post("/v1/challenge-keys/rotate", [:], token: admin)
            #expect(again.verdict == "409 challenge.rotation-pending")
            #expect(try await phone.assert(try await phone.assertion(keyId, challenge: old)).status == 200)
            let between = try await phone.challenge("assert")
            service.clock.advance(60)
            let new = try await phone.challenge("assert")
            #expect(try await phone.assert(try await phone.assertion(keyId, challenge: between)).status == 200)
            #expect(try await phone.assert(try await phone.assertion(keyId, challenge: new)).status == 200)
        }
    }

    @Test func aSecretIsReplacedOnEveryNode() async throws {
        let disk = StoreFile()
        let store = try disk.open()
        let node = NIOLockedValueBox<ServiceParts?>(nil)
        try await RunningService.with(
            Self.configuration(), store: store,
            interfaces: { parts in
                node.withLockedValue { $0 = parts }; return []
            }
        ) { service in
            let (phone, keyId) = try await Phone.attested(service)
            let admin = RunningService.adminToken
            func verdict(_ token: String?) async throws -> String {
                try await service.get("/v1/authorize?simulated=allow", token: token).verdict
            }
            func rotate(_ name: String, _ token: String) async throws -> Reply {
                try await service.post("/v1/secrets/\(name)/rotate", [:], token: token)
            }
            let (old, challenge) = (try await phone.token(keyId), try await phone.challenge("assert"))
            #expect(try await verdict(old) == "204")
            for name in ["none", "artifacts", "challenge-mac", "token-key"] {
                #expect(try await rotate(name, admin).verdict == "404 path.unknown")
            }
            for name in ["ops", "ci", "audit"] {
                let refused = try await rotate("simulator-tokens", Self.token(name))
                #expect(refused.verdict == "401 caller.unauthorized")
            }
            #expect(try await verdict(old) == "204")
            #expect(try await rotate("simulator-tokens", admin)["name"]?.text == "simulator-tokens")
            #expect(try await verdict(old) == "401 token.invalid")
            let new = try await phone.token(keyId)
            #expect(try await verdict(new) == "204")
            func line(_ user: String) async throws -> Substring? {
                _ = try await service.get("/v1/keys?user=\(user)", token: admin)
                let text = String(decoding: try await service.get("/v1/audit", token: admin).body, as: UTF8.self)
                return text.matches(of: /user:(u_[0-9a-f]{16})/).last?.output.1
            }
            let before = try await line("anna")
            #expect(before != nil)
            #expect(try await rotate("audit", admin)["name"]?.text == "audit")
            #expect(try await line("anna") != before)
            #expect(try await rotate("challenges", admin)["generation"] == .integer(2))
            #expect(try await phone.assert(try await phone.assertion(keyId, challenge: challenge)).status == 200)
            // Another node replaces it.
            let other = try disk.open()
            #expect(
                try await StoredSecret.simulatorTokens.replace(
                    in: other, random: { [UInt8](repeating: 7, count: $0) }))
            await other.close()
            // What nodes do every ten seconds.
            try await node.withLockedValue { $0 }?.rereadSecrets()
            #expect(try await verdict(new) == "401 token.invalid")
            #expect(try await verdict(try await phone.token(keyId)) == "204")
            let audit = try await service.get("/v1/audit", token: admin)
            #expect(String(decoding: audit.body, as: UTF8.self).contains("app=* secret:simulator-tokens"))
        }
    }

    /// Apple may have set a bit without an answer, and a deletion may have stopped halfway: both have been here.
    @Test func aCallThatFailedAndMayHaveChangedSomethingIsInTheAudit() async throws {
        let fails = NIOLockedValueBox(false)
        let store = FaultyStore { verb in
            if verb == "deleteKeys", fails.withLockedValue({ $0 }) { throw StoreFault.unavailable("the disk is full") }
        }
        var configuration = Self.configuration()
        configuration.bits = [Configuration.Bit(bit: 0, name: "fraud")]
        configuration.apple = .ofTests
        let apple = ScriptedApple()
        apple.state.withLockedValue { $0.status = 503 }
        try await RunningService.with(configuration, store: store, transport: apple) { service in
            let update: JSONValue = [
                "app": "shop", "deviceToken": "AAAA", "transactionId": "t", "bits": ["fraud": true],
            ]
            let token = Self.token("ci")
            let unanswered = try await service.post("/v1/devicecheck/update", update, token: token)
            #expect(unanswered.verdict == "503 apple.unavailable")
            let refused = try await service.post(
                "/v1/devicecheck/update", update.adding([.init("bits", ["other": true])]), token: token)
            #expect(refused.status == 400)
            fails.withLockedValue { $0 = true }
            let stopped = try await service.delete("/v1/users/anna?app=shop")
            #expect(stopped.verdict == "503 store.unavailable")
            let entries = try await service.store.audit(after: nil, limit: 100).map(\.entry)
            #expect(
                entries.map {
                    "\($0.name) \($0.operation) \($0.target) \($0.outcome)".replacing(#/u_[0-9a-f]{16}/#, with: "u_")
                } == [
                    "ci updateBits app=shop unknown", "adminTokenFile deleteUser app=shop user:u_ unknown",
                ]
            )
        }
    }

    @Test func filesAreReadAgainAndAFaultKeepsTheOldOnes() async throws {
        let configuration = RunningService.configuration()
        let server = try await RunningService.idle(configuration)
        func isAdmin(_ token: String) -> Bool {
            server.parts.live.current.credentials.caller(bearer: token, at: Date()).has(.admin)
        }
        let kids = server.parts.live.current.tokens.production.published
        #expect(
            await server.parts.reload { .issues([ConfigurationIssue(path: "adminTokenFile", reason: "gone")]) } == false
        )
        #expect(isAdmin(RunningService.adminToken))
        var other = configuration
        other.adminTokens = CredentialSource(tokens: ["another"])
        other.tokens.keyPEMs = [P256.Signing.PrivateKey().pemRepresentation]
        other.trustSimulator = nil
        other.apps = []
        #expect(await server.parts.reload { .configuration(other) })
        #expect(!isAdmin(RunningService.adminToken) && isAdmin("another"))
        #expect(server.parts.live.current.tokens.production.published != kids)
        // Settings that are no files stay.
        #expect(server.parts.apps["shop"]?.verifiers.trustsSimulator == false)
        other.tokens.keyPEMs = ["no key"]
        #expect(await server.parts.reload { .configuration(other) } == false)
        #expect(isAdmin("another"))
    }

    /// The files are read again after another node replaced the secret, and before this one looks for it.
    @Test func aReloadHidesNoNewSecretOfTheAudit() async throws {
        let configuration = RunningService.configuration()
        let server = try await RunningService.idle(configuration)
        let (parts, before) = (server.parts, server.parts.users.pseudonym("anna"))
        #expect(try await StoredSecret.audit.replace(in: parts.store) { [UInt8](repeating: 7, count: $0) })
        #expect(await parts.reload { .configuration(configuration) })
        try await parts.rereadSecrets()
        #expect(parts.users.pseudonym("anna") != before)
    }

    /// Two safe steps: publish a key on every node, then sign with it.
    @Test func tokenKeysRotateInTwoSteps() throws {
        let pems = (0..<2).map { _ in P256.Signing.PrivateKey().pemRepresentation }
        func keys(_ text: String) -> [String]? {
            let outcome = ConfigurationReader.read(file: Array(text.utf8), environment: [:]) {
                path throws(UnreadableFile) in
                Array((path == "old" ? pems[0] : pems[1]).utf8)
            }
            if case .configuration(let settings) = outcome { return settings.tokens.keyPEMs }
            return nil
        }
        #expect(keys(#"{"tokens": {"keyFiles": ["old", "new"]}}"#) == pems)
        #expect(keys(#"{"tokens": {"keyFiles": ["old", "new"], "signWith": "old"}}"#) == pems)
        #expect(keys(#"{"tokens": {"keyFiles": ["old", "new"], "signWith": "new"}}"#) == [pems[1], pems[0]])
        let kid = try #require(TokenKeySet.identifier(ofPEM: pems[1]))
        #expect(keys(#"{"tokens": {"keyFiles": ["old", "new"], "signWith": "\#(kid)"}}"#) == [pems[1], pems[0]])
        #expect(keys(#"{"tokens": {"keyFiles": ["old"], "signWith": "new"}}"#) == nil)
    }
}

@Suite struct AuditTargetTests {
    @Test(
        "what was done to one app is not taken for another's",
        arguments: [
            ("shop", "shop premium"), ("shop", "shop user"), ("*", nil), ("a", "a%20b"), ("a b", "a%20b"), ("%", "%25"),
        ] as [(String, String?)]
    )
    func textsOfOtherApps(_ app: String, _ other: String?) {
        for target in [AuditTarget.app(other), .user("anna", app: other)] {
            #expect(!AuditTarget.text(target.text, isOf: app), "\(target.text)")
            if let other { #expect(AuditTarget.text(target.text, isOf: other), "\(target.text)") }
        }
        #expect(!AuditTarget.text(AuditTarget.user("anna", app: app).text, isOf: other ?? "other"))
    }

    @Test func ordinaryIdsStandAsTheyAre() {
        #expect(AuditTarget.user("anna", app: "shop.eu-1").text == "app=shop.eu-1 user:u_7792da60d4cbb9ba")
        #expect(AuditTarget.app(nil).text == "app=*")
    }
}

extension AuditTarget {
    fileprivate var text: String { text(naming: UserNames(.plain, secret: [1])) }
}
