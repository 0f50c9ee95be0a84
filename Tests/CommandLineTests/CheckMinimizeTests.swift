// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

/// `sealward ats minimize` as a user runs it.
@Suite(.enabled(if: LoopbackServers.isAvailable, "nginx, openssl and python3 are needed"))
struct CheckMinimizeTests {
    static func minimize(_ kinds: [String], _ more: [String]) throws -> ProgramRun {
        let servers = try #require(LoopbackServers.shared)
        var arguments = ["ats", "minimize", "--ca-file", servers.authority, "--connect-timeout", "3"] + more
        for kind in kinds {
            let server = try servers.server(kind)
            arguments += [server.url, "--resolve", server.resolve]
        }
        return try ProgramRun(arguments)
    }

    @Test func theDictionaryThatItPrintsPassesInCheck() throws {
        let kinds = ["tls10-only", "suite-static-aes128-gcm-sha256", "modern"]
        let run = try Self.minimize(kinds, ["--format", "plist", "--sdk", "18"])
        #expect(run.status == 0, "\(run.errors)")
        let file = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString + ".plist")
        try Data(run.output.utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let check = try CheckTests.check(kinds, ["--info-plist", file.path, "--sdk", "18"])
        #expect(check.status == 0, "\(check.output)")
        #expect(try CheckTests.check(kinds).status == 1)
    }

    @Test("A proposal that rests on what was inferred says so, and one that does not says nothing")
    func inferredProposals() throws {
        let words = "it was not measured"
        func says(_ run: ProgramRun) -> Bool {
            run.output.split(whereSeparator: \.isWhitespace).joined(separator: " ").contains(words)
        }
        #expect(says(try Self.minimize(["tls10-only"], ["--sdk", "18"])))
        #expect(says(try CheckTests.check(["tls10-only"], ["--sdk", "18"])))
        #expect(!says(try Self.minimize(["tls10-only"], ["--os", "macos15"])))
        #expect(!says(try CheckTests.check(["tls10-only"], ["--os", "macos15"])))
        #expect(!says(try CheckTests.check(["modern"], ["--sdk", "18"])))
    }

    @Test(
        "Keys that can go only together with the dead ones are named, and without all of them each target ends as before"
    )
    func keysThatGoTogether() throws {
        let folder = try TemporaryDirectory()
        func list(_ ats: String) throws -> String {
            try "<plist version=\"1.0\"><dict><key>NSAppTransportSecurity</key><dict>\(ats)</dict></dict></plist>"
                .write(toFile: folder.path("Info.plist"), atomically: true, encoding: .utf8)
            return folder.path("Info.plist")
        }
        let arbitrary = "<key>NSAllowsArbitraryLoads</key><true/>"
        let local = "<key>NSAllowsLocalNetworking</key><true/>"
        let both = try list(arbitrary + local)
        let server = try #require(LoopbackServers.shared).server("plain-http")
        let target = [server.url.replacing("https://", with: "http://"), "--resolve", server.resolve]
        func minimize(_ more: [String]) throws -> ProgramRun {
            try ProgramRun(["ats", "minimize"] + target + more + ["--info-plist", both])
        }
        let run = try minimize(["--format", "json"])
        func paths(_ name: String) -> [String?] {
            (run.json[name] as? [[String: Any]] ?? []).map { $0["keyPath"] as? String }
        }
        // Local networking cancels arbitrary loads: without it alone the load would be allowed.
        #expect(paths("dead") == ["NSAppTransportSecurity.NSAllowsArbitraryLoads"], "\(run.output)")
        #expect(paths("deadTogether") == ["NSAppTransportSecurity.NSAllowsLocalNetworking"], "\(run.output)")
        let text = try minimize([])
        #expect(text.output.contains("together    NSAppTransportSecurity.NSAllowsLocalNetworking"), "\(text.output)")
        for (ats, status) in [(arbitrary + local, 1), (local, 1), (arbitrary, 0), ("", 1)] {
            let check = try ProgramRun(["ats", "check"] + target + ["--info-plist", try list(ats)])
            #expect(check.status == Int32(status), "\(ats): \(check.output)")
        }
    }

    @Test func jsonNamesNeedsDeadKeysAndTheImpossible() throws {
        let plist = """
            <?xml version="1.0" encoding="UTF-8"?>
            <plist version="1.0"><dict><key>NSAppTransportSecurity</key><dict><key>NSExceptionDomains</key><dict>
            <key>api.example.com</key><dict><key>NSExceptionMinimumTLSVersion</key><string>TLSv1.0</string>
            <key>NSExceptionAllowsInsecureHTTPLoads</key><true/></dict></dict></dict></dict></plist>
            """
        let file = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString + ".plist")
        try Data(plist.utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let run = try Self.minimize(
            ["tls10-only", "expired"], ["--format", "json", "--sdk", "18", "--info-plist", file.path])
        #expect(run.status == 1)
        let document = try #require(try JSONSerialization.jsonObject(with: Data(run.output.utf8)) as? [String: Any])
        #expect(document["schema"] as? String == "sealward.ats-minimize/1")
        #expect(document["os"] as? String == "macos26" && document["sdk"] as? String == "18")
        let needed = try #require(document["needed"] as? [[String: String]])
        #expect(needed.count == 1)
        #expect(needed.first?["keyPath"]?.hasSuffix("api.example.com.NSExceptionMinimumTLSVersion") == true)
        #expect(needed.first?["without"] == "ats.tls.version-too-low")
        let dead = try #require(document["dead"] as? [[String: String]])
        // With it the app's own code may accept the expired certificate.
        #expect(dead.isEmpty)
        #expect((document["impossible"] as? [[String: String]])?.isEmpty == true)
        let withCode = try #require(document["withCode"] as? [[String: Any]])
        #expect(withCode.map { $0["because"] as? String } == ["ats.trust.expired"])
        // That an app linked on 18 still speaks TLS 1.0 on 26 was never measured.
        let notes = try #require(document["notes"] as? [[String: Any]])
        #expect(notes.map { $0["code"] as? String } == ["ats.note.sdk-inferred"])
    }
}
