// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppleServices
import AppleSimulator
import Crypto
import Foundation
import Testing

@Suite struct SimulatedDeviceCheckTests {
    @Test func bitsAreNeverSetThenKeptForTheTeam() async throws {
        let bench = try await Bench.withPhone()
        let token = try await bench.deviceToken("a")
        let first = try await bench.asTeam("/v1/query_two_bits", bench.bits(token))
        #expect(first.status == 200)
        #expect(first.words == "Failed to find bit state")

        let write = bench.bits(token, #","bit0":true,"bit1":false"#)
        let update = try await bench.asTeam("/v1/update_two_bits", write)
        #expect(update.status == 200 && update.body.isEmpty)

        // Another app of the team, after an erase, sees the same bits.
        _ = await bench.ask("POST", "/device/v1/devices/a/erase")
        let other = try await bench.deviceToken("a", app: "SIMTEAM001.com.example.other")
        let second = try await bench.asTeam("/v1/query_two_bits", bench.bits(other))
        #expect(second.words == #"{"bit0":true,"bit1":false,"last_update_time":"2026-11"}"#)
    }

    @Test func anAbsentBitKeepsItsValue() async throws {
        let bench = try await Bench.withPhone()
        let token = try await bench.deviceToken("a")
        for members in [#","bit0":true"#, #","bit1":true"#] {
            let answer = try await bench.asTeam("/v1/update_two_bits", bench.bits(token, members))
            #expect(answer.status == 200)
        }
        let state = try await bench.asTeam("/v1/query_two_bits", bench.bits(token))
        #expect(state.object["bit0"] as? Bool == true && state.object["bit1"] as? Bool == true)
    }

    @Test func environmentsAndTeamsAreApart() async throws {
        let bench = try await Bench.withPhone()
        let production = try await bench.deviceToken("a")
        let development = try await bench.deviceToken("a", environment: "development")
        let foreign = try await bench.deviceToken("a", app: "OTHERTEAM1.com.example.shop")
        let path = "v1/validate_device_token"
        for (prefix, token, status) in [
            ("/", production, 200), ("/development/", production, 400), ("/development/", development, 200),
            ("/", development, 400), ("/", foreign, 400),
        ] {
            let answer = try await bench.asTeam(prefix + path, bench.bits(token))
            #expect(answer.status == status)
            if status == 400 { #expect(answer.words.contains("device token")) }
        }
    }

    @Test func singleUseTokensCanBeAskedFor() async throws {
        let bench = try await Bench.withPhone { $0.singleUseDeviceTokens = true }
        let token = try await bench.deviceToken("a")
        let statuses = [
            try await bench.asTeam("/v1/query_two_bits", bench.bits(token)).status,
            try await bench.asTeam("/v1/query_two_bits", bench.bits(token)).status,
        ]
        #expect(statuses == [200, 400])
    }

    @Test(arguments: [
        ("", "Missing or badly formatted payload"), ("[]", "Missing or badly formatted payload"),
        (#"{"transaction_id":"t","timestamp":1795250000000}"#, "Missing or badly formatted device token"),
        (
            #"{"device_token":7,"transaction_id":"t","timestamp":1795250000000}"#,
            "Missing or badly formatted device token"
        ),
        (#"{"device_token":"AAAA","transaction_id":"t"}"#, "Missing or badly formatted timestamp"),
        (#"{"device_token":"AAAA","transaction_id":"t","timestamp":1}"#, "Missing or badly formatted timestamp"),
        (#"{"device_token":"AAAA","timestamp":1795250000000}"#, "Missing or badly formatted transaction id"),
        (
            #"{"device_token":"AAAA","transaction_id":"t","timestamp":1795250000000,"bit0":1}"#,
            "Missing or badly formatted bits"
        ),
        (#"{"device_token":"AAAA","transaction_id":"t","timestamp":1795250000000}"#, "Missing or badly formatted bits"),
        (
            #"{"device_token":"AAAA","transaction_id":"t","timestamp":1795250000000,"bit0":true}"#,
            "Missing or incorrectly formatted device token payload"
        ),
    ])
    func badRequestsHaveApplesTexts(body: String, text: String) async throws {
        let bench = try Bench()
        let answer = try await bench.asTeam("/v1/update_two_bits", body)
        #expect(answer.status == 400)
        #expect(answer.words == text)
    }
}

@Suite struct SimulatedAuthorizationTests {
    private static func part(_ json: String) -> String { part(Data(json.utf8)) }

    private static func part(_ bytes: Data) -> String {
        bytes.base64EncodedString().replacing("+", with: "-").replacing("/", with: "_")
            .replacing("=", with: "")
    }

    private func forged(_ bench: Bench, _ kind: String) async throws -> String? {
        let claims = SimulatedAuthorizationTests.part(#"{"iss":"\#(Bench.team)","iat":1795250000}"#)
        let head = { (alg: String) in
            SimulatedAuthorizationTests.part(#"{"alg":"\#(alg)","kid":"\#(Bench.keyId)"}"#) + "." + claims
        }
        switch kind {
        case "absent": return nil
        case "text": return "Bearer hello"
        case "none": return "Bearer \(head("none"))."
        case "None": return "Bearer \(head("None"))."
        case "HS256":
            // The classic: a MAC with the public key as its secret.
            let secret = SymmetricKey(data: Data(bench.key.publicKey.pemRepresentation.utf8))
            let tag = HMAC<SHA256>.authenticationCode(for: Data(head("HS256").utf8), using: secret)
            return "Bearer \(head("HS256"))." + SimulatedAuthorizationTests.part(Data(tag))
        case "foreign key":
            let signature = try P256.Signing.PrivateKey().signature(for: Data(head("ES256").utf8))
            let encoded = SimulatedAuthorizationTests.part(signature.rawRepresentation)
            return "Bearer \(head("ES256")).\(encoded)"
        case "unknown kid": return "Bearer " + (try await bench.token(keyId: "OTHER"))
        case "unknown team": return "Bearer " + (try await bench.token(team: "OTHERTEAM1"))
        case "old": return "Bearer " + (try await bench.token(at: bench.wall.addingTimeInterval(-3601)))
        case "future": return "Bearer " + (try await bench.token(at: bench.wall.addingTimeInterval(301)))
        default: return "Bearer " + (try await bench.token())
        }
    }

    @Test(arguments: [
        ("absent", 400, 401), ("text", 400, 401), ("none", 401, 401), ("None", 401, 401), ("HS256", 401, 401),
        ("foreign key", 401, 401), ("unknown kid", 401, 401), ("unknown team", 401, 401), ("old", 401, 401),
        ("future", 401, 401), ("genuine", 200, 400),
    ])
    func onlyGenuineTokensPass(kind: String, deviceCheck: Int, receipts: Int) async throws {
        let bench = try await Bench.withPhone()
        let field = try await forged(bench, kind)
        let body = bench.bits(try await bench.deviceToken("a"))
        let bits = await bench.ask("POST", "/v1/query_two_bits", body, authorization: field)
        #expect(bits.status == deviceCheck)
        let data = await bench.ask("POST", "/v1/attestationData", "AAAA", authorization: field)
        #expect(data.status == receipts)
    }

    @Test func methodsAndPaths() async throws {
        let bench = try Bench()
        #expect(await bench.ask("GET", "/v1/query_two_bits").status == 405)
        #expect(await bench.ask("POST", "/v1/attest").status == 404)
        #expect(await bench.ask("POST", "/v2/query_two_bits").status == 404)
        #expect(await bench.ask("GET", "/").status == 404)
    }
}
