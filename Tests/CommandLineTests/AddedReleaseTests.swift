// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

/// A release that no table has, added by one file of data: every command knows it, and nothing else changes.
@Suite struct AddedReleaseTests {
    static let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "Vectors/systems/ios99.json").path
    static let environment = ["NO_COLOR": "1", "SEALWARD_SYSTEMS": file]

    static func run(_ words: [String]) throws -> ProgramRun {
        try ProgramRun(["ats"] + words, environment: environment)
    }

    @Test func withoutTheFileNobodyKnowsIt() throws {
        #expect(try ProgramRun(["ats", "systems", "ios99"]).status == 64)
        #expect(try !ProgramRun(["ats", "systems"]).output.contains("iOS 99"))
    }

    @Test func itIsListedWithItsSource() throws {
        let one = try Self.run(["systems", "ios99"])
        #expect(one.status == 0 && one.output.hasPrefix("iOS 99"), "\(one.errors)")
        #expect(one.output.contains("a release that does not exist, for the tests"))
        let all = try Self.run(["systems"]).output
        #expect(all.contains("iOS 99") && all.contains("iOS 27") && all.contains("macOS 27"))
        let json = try Self.run(["systems", "--format", "json"])
        let systems = try #require(json.json["systems"] as? [[String: Any]])
        #expect(systems.compactMap { $0["os"] as? String }.suffix(2) == ["ios99", "published"])
    }

    @Test func explainLintAndCertificateTakeIt() throws {
        let explain = try Self.run(["explain", "http://news.example/", "--os", "ios99", "--format", "json"])
        #expect(explain.status == 1 && explain.output.contains("ios99"), "\(explain.errors)")
        let folder = try TemporaryDirectory()
        let path = folder.path("Info.plist")
        try """
        <plist version="1.0"><dict><key>CFBundleIdentifier</key><string>a</string><key>NSAppTransportSecurity</key><dict/></dict></plist>
        """.write(toFile: path, atomically: true, encoding: .utf8)
        #expect(try Self.run(["lint", path, "--minimum-os", "ios99"]).status == 0)
        // The file of the certificate is empty; the system is not what is wrong.
        let certificate = try Self.run(["certificate", "/dev/null", "--os", "ios99"])
        #expect(!certificate.errors.contains("ios99"), "\(certificate.errors)")
    }

    @Test(.enabled(if: LoopbackServers.isAvailable, "nginx, openssl and python3 are needed"))
    func loadsAreJudgedByWhatTheFileSays() throws {
        let servers = try #require(LoopbackServers.shared)
        func check(_ kind: String, _ system: String, _ command: String = "check") throws -> ProgramRun {
            let server = try servers.server(kind)
            return try Self.run([
                command, "--ca-file", servers.authority, "--connect-timeout", "3", "--os", system, server.url,
                "--resolve", server.resolve,
            ])
        }
        #expect(try check("modern", "ios99").status == 0)
        #expect(try check("tls12-only", "ios27").status == 0)
        let refused = try check("tls12-only", "ios99")
        #expect(refused.status == 1, "\(refused.output)\(refused.errors)")
        #expect(refused.output.contains("iOS 99") && refused.output.contains("version-too-low"), "\(refused.output)")
        // No key helps against the system's own minimum, and `minimize` says so.
        #expect(try check("modern", "ios99", "minimize").status == 0)
        #expect(try check("tls12-only", "ios99", "minimize").status != 0)
    }

    @Test(arguments: [
        ("", "must be an object"), ("[]", "must be an object"), (#"{"releases": [{}]}"#, "an id"),
        (
            #"{"releases": [{"id": "ios27", "after": "ios26", "source": "s", "read": "2026-11-22"}]}"#,
            "ios27: is already known"
        ),
        (#"{"releases": [{"id": "ios99", "after": "macos27", "source": "s", "read": "2026-11-22"}]}"#, "'after'"),
        (#"{"releases": [{"id": "ios99", "after": "ios27"}]}"#, "'source' and 'read'"),
        (
            #"{"releases": [{"id": "ios99", "after": "ios27", "source": "s", "read": "2026-11-22", "pins": true}]}"#,
            "'pins' is not a known member"
        ),
        (
            #"{"releases": [{"id": "ios99", "after": "ios27", "source": "s", "read": "2026-11-22", "readsPins": 1}]}"#,
            "'readsPins' is not true or false"
        ),
        (
            #"{"releases": [{"id": "ios99", "after": "ios27", "source": "s", "read": "2026-11-22", "minimumVersion": "1.3"}]}"#,
            "'minimumVersion'"
        ),
    ])
    func aFileThatSaysSomethingElseIsRefused(_ text: String, _ reason: String) throws {
        let folder = try TemporaryDirectory()
        let path = folder.path("systems.json")
        try text.write(toFile: path, atomically: true, encoding: .utf8)
        let run = try ProgramRun(["ats", "systems"], environment: ["NO_COLOR": "1", "SEALWARD_SYSTEMS": path])
        #expect(run.status == 2 && run.errors.contains(reason), "\(run.status) \(run.errors)")
    }
}
