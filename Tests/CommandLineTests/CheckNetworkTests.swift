// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

/// Certificate Transparency, several addresses, and both address families, as a user of `sealward ats check` meets them.
@Suite(.enabled(if: LoopbackServers.isAvailable, "nginx, openssl and python3 are needed"))
struct CheckNetworkTests {
    /// The targets of a JSON report.
    static func targets(_ run: ProgramRun) throws -> [[String: Any]] {
        let document = try #require(
            try JSONSerialization.jsonObject(with: Data(run.output.utf8)) as? [String: Any],
            "\(run.output)\(run.errors)")
        return try #require(document["targets"] as? [[String: Any]])
    }

    static func first(_ target: [String: Any]) throws -> (result: String?, cause: String?) {
        let test = try #require((target["tests"] as? [[String: Any]])?.first)
        return (test["result"] as? String, (test["because"] as? [[String: Any]])?.first?["code"] as? String)
    }

    // MARK: - Certificate Transparency

    /// A log list with two logs, whose ids the servers' timestamps carry.
    static func logList(state: String, in folder: TemporaryDirectory) throws -> String {
        let logs = [0xA1, 0xB2].map { byte in
            #"{"log_id":"\#(Data(repeating: UInt8(byte), count: 32).base64EncodedString())","state":{"\#(state)":{}}}"#
        }
        let path = folder.path("logs.json")
        try #"{"operators":[{"name":"one","logs":[\#(logs.joined(separator: ","))]}]}"#
            .write(toFile: path, atomically: true, encoding: .utf8)
        return path
    }

    /// The servers' timestamps have signatures that are none, and the list has no keys: nothing counts. `TransparencyCommandTests` has good ones.
    @Test(
        arguments: [
            ("timestamps-embedded", "usable", "contains no key of the log"),
            ("timestamps-extension", "usable", "contains no key of the log"),
            ("staple-timestamps", "usable", "contains no key of the log"), ("modern", "usable", "0 valid of 2 needed"),
            ("timestamps-embedded", "retired", "contains no key of the log"),
            ("timestamps-extension", "pending", "the log is pending"),
            ("staple-timestamps", "rejected", "the log is rejected"),
        ]
    )
    func aLogListMakesTransparencyAVerdict(_ kind: String, _ state: String, _ words: String) throws {
        let folder = try TemporaryDirectory()
        let servers = try #require(LoopbackServers.shared)
        let list = try Self.logList(state: state, in: folder)
        let server = try servers.server(kind)
        func run(_ roots: String, _ more: [String]) throws -> [String: Any] {
            let arguments = ["ats", "check", server.url, "--resolve", server.resolve, roots, servers.authority]
            return try #require(
                try Self.targets(try ProgramRun(arguments + ["--format", "json", "--no-http"] + more)).first)
        }
        // As a root of the system's the authority is publicly trusted, and its certificates must be logged.
        let target = try run("--roots", ["--ct-log-list", list])
        let judged = try Self.first(target)
        #expect(judged.result == "FAIL" && judged.cause == "ats.ct.missing")
        let because = (target["tests"] as? [[String: Any]])?.first?["because"] as? [[String: Any]]
        #expect((because?.first?["message"] as? String)?.contains(words) == true, "\(because ?? [])")
        // Without a list timestamps are a note and their absence is a failure, and for an installed root neither counts.
        let unjudged = try run("--roots", [])
        let isBare = kind == "modern"
        #expect(try Self.first(unjudged).result == (isBare ? "FAIL" : "PASS"))
        #expect(try Self.first(unjudged).cause == (isBare ? "ats.ct.missing" : nil))
        let notes = (unjudged["notes"] as? [[String: Any]] ?? []).compactMap { $0["code"] as? String }
        #expect(notes.contains("ats.note.ct-not-judged") != isBare)
        #expect(try Self.first(try run("--ca-file", ["--ct-log-list", list])).result == "PASS")
        let timestamps = (unjudged["facts"] as? [String: Any])?["timestamps"] as? [String: Int]
        let places = [
            "timestamps-embedded": "certificate", "timestamps-extension": "extension", "staple-timestamps": "staple",
        ]
        for place in ["certificate", "extension", "staple"] {
            #expect(timestamps?[place] == (places[kind] == place ? 2 : 0), "\(place)")
        }
    }

    @Test func aBrokenLogListIsNamed() throws {
        let folder = try TemporaryDirectory()
        for text in ["", "[]", "{}", #"{"operators":[]}"#] {
            try text.write(toFile: folder.path("logs.json"), atomically: true, encoding: .utf8)
            let run = try CheckTests.check(["modern"], ["--ct-log-list", folder.path("logs.json")])
            #expect(run.status == 2)
            #expect(run.errors.contains("logs.json"), "\(run.errors)")
        }
    }

    @Test func aRevokedCertificateFailsAndSaysSince() throws {
        let run = try CheckTests.check(["staple-revoked"])
        #expect(run.status == 1)
        #expect(run.output.contains("ats.trust.revoked"), "\(run.output)")
        let forged = try CheckTests.check(["staple-revoked-forged"], ["--format", "json"])
        let target = try #require(try Self.targets(forged).first)
        #expect((target["facts"] as? [String: Any])?["ocspStatus"] as? String == "unusable")
        let notes = (target["notes"] as? [[String: Any]] ?? []).compactMap { $0["code"] as? String }
        #expect(notes.contains("ats.note.staple-unusable"))
    }

    // MARK: - Addresses

    @Test func allAddressesMakeATargetEach() throws {
        let servers = try #require(LoopbackServers.shared)
        let server = try servers.server("modern")
        let run = try ProgramRun([
            "ats", "check", server.url, "--ca-file", servers.authority, "--format", "json", "--all-addresses",
            "--connect-timeout", "3",
            "--resolve", "\(server.host):\(server.port):[::1],127.0.0.1,127.0.0.2",
        ])
        let targets = try Self.targets(run)
        #expect(targets.count == 3)
        var results: [String: String] = [:]
        for target in targets {
            let first = try Self.first(target)
            #expect(target["host"] as? String == server.host)
            if first.result == "PASS" {
                results[try #require(target["address"] as? String)] = "PASS"
            } else {
                #expect(first.result == "UNDETERMINED")
                #expect(first.cause == "ats.net.refused")
            }
        }
        #expect(results == ["127.0.0.1": "PASS"])
        #expect(run.status == 2)
    }

    /// The address families in both orders, each with only one of them served.
    @Test(arguments: [("::1", "127.0.0.1"), ("127.0.0.1", "::1")])
    func theAddressThatConnectsIsTaken(_ served: String, _ dead: String) throws {
        let certification = try TestCertification()
        let root = try certification.root()
        let leaf = try certification.issue(
            "leaf", subject: "/CN=both.example", issuer: root,
            extensions: ["subjectAltName=DNS:both.example,IP:::1,IP:127.0.0.1", "extendedKeyUsage=serverAuth"])
        let server = try OpenSSLServer(
            ["-cert", leaf.certificatePath, "-key", leaf.keyPath],
            address: served.contains(":") ? "[\(served)]" : served)
        func check(_ target: String, _ more: [String]) throws -> [String: Any] {
            let run = try ProgramRun(
                [
                    "ats", "check", target, "--ca-file", root.certificatePath, "--format", "json", "--connect-timeout",
                    "5",
                ] + more
            )
            return try #require(try Self.targets(run).first)
        }
        for order in [[dead, served], [served, dead]] {
            let list = order.map { $0.contains(":") ? "[\($0)]" : $0 }.joined(separator: ",")
            let target = try check(
                "https://both.example:\(server.port)/", ["--resolve", "both.example:\(server.port):\(list)"])
            #expect(try Self.first(target).result == "PASS", "\(order)")
            #expect(target["address"] as? String == served)
            #expect(target["status"] as? Int == 200)
        }
        // The address itself as the target.
        let literal = served.contains(":") ? "[\(served)]" : served
        let target = try check("https://\(literal):\(server.port)/", [])
        #expect(try Self.first(target).result == "PASS")
        #expect(target["host"] as? String == served)
    }
}
