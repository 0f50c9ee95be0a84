// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

/// `sealward ats check --for managed`: what the system's own processes of OS 27 make of a server.
@Suite(.enabled(if: LoopbackServers.isAvailable, "nginx, openssl and python3 are needed"), .serialized)
struct ManagedCheckTests {
    private static func check(_ targets: [String], _ more: [String] = []) throws -> ProgramRun {
        let servers = try #require(LoopbackServers.shared)
        let resolves = servers.resolveEntries.flatMap { ["--resolve", $0] }
        return try ProgramRun(
            ["ats", "check", "--for", "managed", "--ca-file", servers.authority] + resolves + more + targets)
    }

    private static func url(_ kind: String) throws -> String {
        try #require(LoopbackServers.shared).server(kind).url
    }

    private static func targets(_ run: ProgramRun) throws -> [[String: Any]] {
        try #require(run.json["targets"] as? [[String: Any]], "\(run.errors)")
    }

    private static func last(_ target: [String: Any]) -> [String: Any] {
        (target["tests"] as? [[String: Any]])?.last ?? [:]
    }

    private static func cause(_ target: [String: Any]) -> String? {
        (last(target)["because"] as? [[String: Any]])?.first?["code"] as? String
    }

    @Test(
        "FCP_v2.1: TLS 1.3 as before; TLS 1.2 with ECDHE, AES-GCM and the extended master secret",
        arguments: [
            ("modern", nil), ("tls13-only", nil), ("tls12-only", nil), ("suite-ecdsa-aes256-gcm-sha384", nil),
            ("tls12-no-extended-master-secret", "ats.tls.no-extended-master-secret"),
            ("suite-rsa-aes128-cbc-sha", "ats.tls.no-common-suite"), ("suite-rsa-chacha20", "ats.tls.no-common-suite"),
            ("suite-static-aes128-gcm-sha256", "ats.tls.no-forward-secrecy"), ("tls11-only", "ats.tls.version-too-low"),
        ] as [(String, String?)]
    )
    func verdicts(kind: String, cause: String?) throws {
        let run = try Self.check([Self.url(kind)], ["--format", "json"])
        #expect(run.status == (cause == nil ? 0 : 1), "\(run.errors)")
        #expect(run.string("os") == "macos27" && run.string("sdk") == "27")
        let target = try #require(try Self.targets(run).first)
        #expect(Self.last(target)["name"] as? String == "ATS and FCP_v2.1")
        #expect(Self.cause(target) == cause)
        #expect((target["smallestException"] is NSNull) == (cause != nil))
        let lines = target["serverLines"] as? [String: String]
        #expect(lines?.keys.sorted() == (cause == nil ? nil : ["apache", "haproxy", "iis", "nginx"]))
    }

    @Test("What Apple exempts is named in the help")
    func exemptions() throws {
        let help = try ProgramRun(["ats", "check", "--help"]).output
        #expect(
            help.split(whereSeparator: \.isWhitespace).joined(separator: " ").contains(
                "Apple exempts SCEP and content caching"))
    }

    @Test("The text names the line to change, in the words of each server")
    func serverLines() throws {
        let text = try Self.check([Self.url("tls11-only")]).output
        for words in [
            "ssl_protocols TLSv1.2 TLSv1.3;", "SSLProtocol -all +TLSv1.2 +TLSv1.3", "ssl-min-ver TLSv1.2", "SCHANNEL",
            "HAProxy",
        ] { #expect(text.contains(words), "\(text)") }
    }

    @Test(
        "A mail address and mdm:DOMAIN lead to the servers that the enrollment names", arguments: ["someone@", "mdm:"])
    func discovery(word: String) throws {
        let servers = try #require(LoopbackServers.shared)
        let enrollment = try servers.server("enrollment")
        let run = try Self.check(["\(word)\(enrollment.host):\(enrollment.port)"], ["--format", "json"])
        let targets = try Self.targets(run)
        #expect(run.status == 1 && targets.count == 2, "\(run.output) \(run.errors)")
        let asked = targets.first?["target"] as? String ?? ""
        #expect(asked.contains("/.well-known/com.apple.remotemanagement"))
        #expect(asked.contains("user-identifier=someone%40") == (word == "someone@"))
        let named = try #require(targets.last)
        let port = try servers.server("tls12-no-extended-master-secret").port
        #expect(named["target"] as? String == "https://\(LoopbackServers.otherHost):\(port)/enrol")
        #expect(Self.cause(named) == "ats.tls.no-extended-master-secret")
    }

    @Test(
        "A server that names no others is checked alone, and why is said",
        arguments: ["modern", "status-404", "tls11-only"])
    func noDiscovery(kind: String) throws {
        let server = try #require(LoopbackServers.shared).server(kind)
        let run = try Self.check(["mdm:\(server.host):\(server.port)"], ["--format", "json"])
        #expect(try Self.targets(run).count == 1)
        #expect(run.errors.contains("only this server is checked"), "\(run.errors)")
    }

    @Test("What has a dictionary or a system of its own does not go with it")
    func usage() throws {
        let url = try Self.url("modern")
        for more in [["--os", "macos26"], ["--systems", "ios27"], ["--format", "nscurl"], ["--info-plist", "x"]] {
            #expect(try Self.check([url], more).status == 64, "\(more)")
        }
        #expect(try Self.check(["mdm:"]).status == 64)
        #expect(try Self.check([url], ["--os", "ios27"]).status == 0)
    }
}
