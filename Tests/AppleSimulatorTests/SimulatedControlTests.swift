// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppleSimulator
import Foundation
import TestSupport
import Testing

@Suite struct SimulatedControlTests {
    @Test func theClockMovesBitsButNotAuthorizations() async throws {
        let bench = try await Bench.withPhone()
        let moved = await bench.ask("PUT", "/control/clock", #"{"advanceSeconds":2678400}"#)
        #expect((moved.object["now"] as? String)?.hasPrefix("2026-12") == true)
        let token = try await bench.deviceToken("a")
        let write = try await bench.asTeam("/v1/update_two_bits", bench.bits(token, #","bit0":true,"bit1":true"#))
        #expect(write.status == 200)
        let state = try await bench.asTeam("/v1/query_two_bits", bench.bits(token))
        #expect(state.object["last_update_time"] as? String == "2026-12")
    }

    @Test(arguments: [
        (#"{"now":"2030-01-02T03:04:05Z","stopped":true}"#, "2030-01-02T03:04:05.000Z"),
        (#"{"now":"2030-01-02T03:04:05.250Z"}"#, "2030-01-02T03:04:05.250Z"),
        (#"{"follow":true}"#, "2026-11-21T08:33:20.000Z"),
    ])
    func theClockIsSet(body: String, now: String) async throws {
        let bench = try Bench()
        #expect(await bench.ask("PUT", "/control/clock", body).object["now"] as? String == now)
        let later = await bench.ask("GET", "/control/state", wall: bench.wall.addingTimeInterval(10))
        let stands = body.contains("stopped")
        #expect((later.object["now"] as? String == now) == stands)
    }

    /// Every path and method of the contract exists, and every other method is answered with those that do.
    @Test func theContractIsServedAndNamesEveryPath() async throws {
        let bench = try Bench()
        let answer = await bench.ask("GET", "/openapi.yaml")
        #expect(answer.status == 200 && answer.contentType == "application/yaml")
        let lines = String(decoding: answer.body, as: UTF8.self).split(separator: "\n")
        var paths: [String: Set<String>] = [:]
        var path = ""
        for line in lines {
            if line.hasPrefix("  /"), line.hasSuffix(":") { path = String(line.dropFirst(2).dropLast()) }
            for method in ["get", "put", "post", "delete"] where line == "    \(method):" {
                paths[path, default: []].insert(method.uppercased())
            }
        }
        #expect(paths.count == 25)
        for (path, methods) in paths {
            let place = path.replacingOccurrences(of: "{device}", with: "a")
            for method in ["GET", "PUT", "POST", "DELETE", "PATCH", "HEAD"] {
                let answer = await bench.ask(method, place)
                #expect((answer.status == 405) == !methods.contains(method), "\(method) \(place)")
                if answer.status == 405 {
                    let allowed = answer.headers["Allow"]?.split(separator: ", ").map(String.init) ?? []
                    #expect(Set(allowed) == methods, "\(place)")
                }
            }
        }
    }

    /// Numbers are taken up to the bounds that the contract names, and what lies beyond is refused and changes nothing.
    @Test(
        arguments: [
            ("status", 200, 599, 199, 600), ("retryAfterSeconds", 0, 86_400, -1, 86_401),
            ("delayMilliseconds", 0, 60_000, -1, 60_001), ("count", 0, 1_000_000, -1, 1_000_001),
            ("share", 0, 1, -0.001, 1.001),
        ] as [(String, Double, Double, Double, Double)]
    )
    func faultsHaveBounds(
        _ name: String, _ least: Double, _ most: Double, _ below: Double, _ above: Double
    )
        async throws
    {
        let bench = try Bench()
        func set(_ number: Double) async -> Int {
            let text = number == number.rounded() ? String(Int(number)) : String(number)
            return await bench.ask("PUT", "/control/faults", #"[{"call":"attest","\#(name)":\#(text)}]"#).status
        }
        for number in [least, most] { #expect(await set(number) == 200, "\(name) \(number)") }
        let before = await bench.ask("GET", "/control/state").words
        for number in [below, above] { #expect(await set(number) == 400, "\(name) \(number)") }
        #expect(
            await bench.ask("GET", "/control/state").words.contains(#""\#(name)":"#) == before.contains(#""\#(name)":"#)
        )
        let contract = await bench.ask("GET", "/openapi.yaml").words
        let bounds =
            "\(name): {type: \(name == "share" ? "number" : "integer"), nullable: true, minimum: \(Int(least)), maximum: \(Int(most))"
        #expect(contract.contains(bounds), "the contract does not say \(bounds)")
    }

    @Test func listsAndClocksAndLimitsHaveBounds() async throws {
        let bench = try Bench()
        func list(_ count: Int) -> String {
            "[" + [String](repeating: #"{"call":"attest"}"#, count: count).joined(separator: ",") + "]"
        }
        #expect(await bench.ask("PUT", "/control/faults", list(64)).status == 200)
        #expect(await bench.ask("PUT", "/control/faults", list(65)).status == 400)
        for (seconds, status) in [
            ("1e10", 200), ("-1e10", 200), ("1.0001e10", 400), ("-1.0001e10", 400), ("1e300", 400),
        ] {
            let body = #"{"advanceSeconds":\#(seconds)}"#
            #expect(await bench.ask("PUT", "/control/clock", body).status == status, "\(seconds)")
        }
        for (rate, status) in [("0", 200), ("1000000", 200), ("1000001", 400), ("-1", 400)] {
            #expect(await bench.ask("PUT", "/control/limits", #"{"attest":\#(rate)}"#).status == status, "\(rate)")
        }
        let contract = await bench.ask("GET", "/openapi.yaml").words
        for text in [
            "advanceSeconds: {type: number, nullable: true, minimum: -10000000000, maximum: 10000000000}",
            "Rate: {type: number, minimum: 0, maximum: 1000000}", "maxItems: 64",
        ] {
            #expect(contract.contains(text), "the contract does not say \(text)")
        }
    }

    @Test func faultsHitAsOftenAsTheySay() async throws {
        let bench = try await Bench.withPhone()
        let token = try await bench.deviceToken("a")
        let fault = #"[{"call":"query_two_bits","status":503,"retryAfterSeconds":3,"count":2}]"#
        #expect(await bench.ask("PUT", "/control/faults", fault).status == 200)
        var statuses: [Int] = []
        for _ in 0..<3 {
            let answer = try await bench.asTeam("/v1/query_two_bits", bench.bits(token))
            statuses.append(answer.status)
            if answer.status == 503 { #expect(answer.headers["Retry-After"] == "3") }
        }
        #expect(statuses == [503, 503, 200])
    }

    @Test func aShareOfRequestsFailsTheSameWayEachRun() async throws {
        var runs: [[Int]] = []
        for _ in 0..<2 {
            let bench = try Bench()
            _ = await bench.ask("PUT", "/control/faults", #"[{"call":"query_two_bits","status":500,"share":0.5}]"#)
            var statuses: [Int] = []
            for _ in 0..<40 { statuses.append(await bench.ask("POST", "/v1/query_two_bits").status) }
            runs.append(statuses)
        }
        #expect(runs[0] == runs[1])
        #expect((8...32).contains(runs[0].count { $0 == 500 }))
    }

    @Test(arguments: [
        ("redirect", 302, "Location"), ("html", 200, "<html>"), ("oversized", 200, "AAAA"), ("emptyObject", 200, "{}"),
    ])
    func answersCanBeSpoiled(kind: String, status: Int, sign: String) async throws {
        let bench = try Bench()
        _ = await bench.ask("PUT", "/control/faults", #"[{"call":"attestationData","kind":"\#(kind)"}]"#)
        let answer = await bench.ask("POST", "/v1/attestationData", "AAAA")
        #expect(answer.status == status)
        #expect(answer.headers.keys.contains(sign) || answer.words.contains(sign))
    }

    @Test func limitsAreBySecond() async throws {
        let bench = try Bench()
        _ = await bench.ask("PUT", "/control/limits", #"{"query_two_bits":2}"#)
        var statuses: [Int] = []
        for second in [0.0, 0.1, 0.2, 1.0] {
            let wall = bench.wall.addingTimeInterval(second)
            statuses.append(await bench.ask("POST", "/v1/query_two_bits", wall: wall).status)
        }
        #expect(statuses == [400, 400, 429, 400])
        let unknown = await bench.ask("PUT", "/control/limits", #"{"nothing":2}"#)
        #expect(unknown.status == 400)
    }

    @Test func aTeamCanBeAddedAndRemoved() async throws {
        let bench = try await Bench.withPhone { $0.teams = [] }
        let body = bench.bits(try await bench.deviceToken("a"))
        #expect(try await bench.asTeam("/v1/query_two_bits", body).status == 401)
        let team = #"{"teamId":"SIMTEAM001","keyId":"SIMKEY0001"}"#
        let added = await bench.ask("POST", "/control/teams", team)
        #expect((added.object["privateKey"] as? String)?.contains("PRIVATE KEY") == true)
        #expect(try await bench.asTeam("/v1/query_two_bits", body).status == 200)
        _ = await bench.ask("DELETE", "/control/teams", team)
        #expect(try await bench.asTeam("/v1/query_two_bits", body).status == 401)
    }

    @Test(arguments: [
        ("PUT", "/control/clock", "{"), ("PUT", "/control/faults", #"[{"call":"nothing"}]"#),
        ("PUT", "/control/clock", #"{"now":"soon"}"#),
        ("POST", "/control/teams", #"{"teamId":"T","keyId":"K","publicKey":"no"}"#),
    ])
    func badRequestsAreRefused(method: String, path: String, body: String) async throws {
        let bench = try Bench()
        #expect(await bench.ask(method, path, body).status == 400)
    }

    /// A misspelled member is named with those that there are, and nothing is done: a fault that never comes would make a test pass.
    @Test(arguments: [
        (
            "PUT", "/control/faults", #"[{"call":"attest"},{"call":"attest","statusCode":503}]"#, "statusCode",
            "of element 1; known are call, kind, status, body, retryAfterSeconds, delayMilliseconds, count, share, location"
        ),
        (
            "PUT", "/control/clock", #"{"advanceSecond":60}"#, "advanceSecond",
            "; known are now, advanceSeconds, stopped, follow"
        ),
        (
            "PUT", "/control/limits", #"{"attest":1,"query":2}"#, "query",
            "; known are attestationData, query_two_bits, update_two_bits, validate_device_token, attest"
        ),
        (
            "PUT", "/control/device-tokens", #"{"singleUse":true,"SingleUse":false}"#, "SingleUse",
            "; known are singleUse"
        ),
        (
            "POST", "/control/teams", #"{"teamId":"T","keyId":"K","publickey":"no"}"#, "publickey",
            "; known are teamId, keyId, publicKey"
        ),
        (
            "DELETE", "/control/teams", #"{"teamId":"T","keyId":"K","publicKey":"no"}"#, "publicKey",
            "; known are teamId, keyId"
        ),
        (
            "POST", "/device/v1/devices", #"{"device":"b","platforms":"macos"}"#, "platforms",
            "; known are device, platform, os, supported"
        ),
        (
            "POST", "/device/v1/devices/a/keys", #"{"app":"SIMTEAM001.com.example.shop","environments":"development"}"#,
            "environments", "; known are app, environment, clip"
        ),
        (
            "POST", "/device/v1/devices/a/attest", #"{"keyId":"K","faults":"nonce"}"#, "faults",
            "; known are keyId, clientDataHash, bundleVersion, validationCategory, fault"
        ),
        ("POST", "/device/v1/devices/a/erase", #"{"app":"x"}"#, "app", "; none is known"),
    ])
    func misspelledMembersAreRefusedByName(
        method: String, path: String, body: String, member: String, rest: String
    ) async throws {
        let bench = try await Bench.withPhone()
        let before = await bench.ask("GET", "/device/v1/devices/a").words
        let refused = await bench.ask(method, path, body)
        #expect(refused.status == 400)
        #expect(refused.object["error"] as? String == "invalidInput")
        let detail = try #require(refused.object["detail"] as? String, "\(refused.words)")
        #expect(detail.hasPrefix("unknown member '\(member)'") && detail.hasSuffix(rest), "\(detail)")
        let state = await bench.ask("GET", "/control/state").object
        #expect((state["faults"] as? [Any])?.isEmpty == true && state["devices"] as? Int == 1)
        #expect((state["now"] as? String) == "2026-11-21T08:33:20.000Z" && state["teams"] as? [String] == [Bench.team])
        // Whoever knows it makes phones that a service trusts, wherever the simulator is.
        #expect(state["seed"] == nil)
        #expect(await bench.ask("GET", "/device/v1/devices/a").words == before)
    }

    /// Names and texts of combining marks, which a decoder hashes in the square of their number: 300 kB of them took 42 seconds.
    @Test(arguments: [
        ("", #""#), ("\u{301}", #""#), ("", #"\u0301"#),
    ])
    func longTextsAreRefusedUnread(_ mark: String, _ escape: String) async throws {
        let bench = try Bench()
        let long = String(repeating: mark.isEmpty ? (escape.isEmpty ? "a" : escape) : mark, count: 60_000)
        let isPlain = mark.isEmpty && escape.isEmpty
        for (path, body, isAccepted) in [
            ("/device/v1/devices", #"{"\#(long)": 1}"#, false), ("/device/v1/devices", #"{"a\"\#(long)" : 1}"#, false),
            ("/v1/query_two_bits", #"{"\#(long)": 1}"#, false),
            ("/device/v1/devices", #"{"device":"\#(long)"}"#, isPlain),
        ] {
            let start = ContinuousClock.now
            let refused = await bench.ask("POST", path, body)
            #expect(Measuring.isOff || ContinuousClock.now - start < .seconds(1))
            #expect(refused.words.contains("has more than 64 bytes") != isAccepted, "\(path) \(refused.status)")
        }
    }

    /// A name is cut to 64 bytes before it is repeated, and other refusals have no detail that says nothing.
    @Test func aLongNameIsCut() async throws {
        let bench = try Bench()
        let name = String(repeating: "é", count: 5000)
        let refused = await bench.ask("PUT", "/control/clock", #"{"\#(name)":1}"#)
        #expect(refused.status == 400 && refused.body.count < 300)
        let short = await bench.ask("PUT", "/control/clock", #"{"\#(String(repeating: "é", count: 32))":1}"#)
        #expect(short.words.contains("unknown member"))
        #expect(await bench.ask("PUT", "/control/clock", "{").words == #"{"error":"invalidInput"}"#)
    }
}
