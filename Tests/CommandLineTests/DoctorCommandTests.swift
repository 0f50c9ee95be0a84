// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

@testable import sealward

/// `sealward doctor`: each form is called what it is, and silence is never health.
@Suite struct DoctorCommandTests {
    let folder: TemporaryDirectory

    init() throws { folder = try TemporaryDirectory() }

    private func items(_ run: ProgramRun) -> [[String: Any]] { run.json["items"] as? [[String: Any]] ?? [] }

    private func doctor(_ words: [String], input: String? = nil) throws -> ProgramRun {
        try ProgramRun(["doctor", "--format", "json"] + words, input: input ?? "", in: folder.url)
    }

    /// The example of each form is recognised as that form, and none is said to be fine that has a fault or cannot be judged.
    @Test func everyFormIsRecognised() throws {
        for form in Recogniser.all {
            guard let example = form.example else { continue }
            let input = Recogniser.Input(name: example.name, head: Array(example.text.utf8))
            #expect(Recogniser.of(input)?.what == form.what, "\(example.name)")
        }
    }

    @Test func aFileIsGivenToItsCommand() throws {
        let text =
            "<plist><dict><key>NSAppTransportSecurity</key><dict><key>NSAllowsArbitraryLoads</key><string>YES</string></dict></dict></plist>"
        try text.write(toFile: folder.path("Info.plist"), atomically: true, encoding: .utf8)
        let run = try doctor(["Info.plist"])
        let item = try #require(items(run).first)
        #expect(run.status == 1 && item["what"] as? String == "info-plist" && item["verdict"] as? String == "cause")
        let because = item["because"] as? [[String: Any]]
        #expect(because?.first?["code"] as? String == "ATS002")
        #expect((item["next"] as? [String])?.first == "sealward ats lint --fail-on warning Info.plist")
        #expect((item["result"] as? [String: Any])?["schema"] as? String == "sealward.ats-lint/1")
    }

    @Test(arguments: [
        ("<key>NSAllowsArbitraryLoads</key>\n<true/>\n", "info-plist", Int32(1)),
        ("{ NSExceptionDomains = { \"a.example\" = { NSExceptionMinimumTLSVersion = \"1.0\"; }; }; }", "info-plist", 1),
        ("Error Domain=NSURLErrorDomain Code=-1022 \"x\"\n", "log", 1), ("-9816\n", "explained", 1),
        ("nothing that anybody knows\n", "unknown", 2), ("", "empty", 2),
    ])
    func standardInputIsRecognised(_ text: String, _ what: String, _ status: Int32) throws {
        let run = try doctor(["-"], input: text)
        #expect(items(run).first?["what"] as? String == what && run.status == status, "\(run.output) \(run.errors)")
    }

    @Test func whatIsNotKnownIsNeverFine() throws {
        #expect(try doctor([folder.path("absent.plist")]).status == 2)
        try FileManager.default.createDirectory(atPath: folder.path("empty"), withIntermediateDirectories: true)
        #expect(try doctor(["empty"]).status == 2)
    }

    /// A link that leads out of a folder is not followed.
    @Test func nothingOutsideIsRead() throws {
        try FileManager.default.createDirectory(atPath: folder.path("in"), withIntermediateDirectories: true)
        let text =
            "<plist><dict><key>NSAppTransportSecurity</key><dict><key>NSAllowsArbitraryLoads</key><string>OUTSIDE</string></dict></dict></plist>"
        try text.write(toFile: folder.path("secret.plist"), atomically: true, encoding: .utf8)
        try FileManager.default.createSymbolicLink(
            atPath: folder.path("in/Info.plist"), withDestinationPath: folder.path("secret.plist"))
        try FileManager.default.createSymbolicLink(atPath: folder.path("in/all"), withDestinationPath: folder.url.path)
        let run = try doctor(["in"])
        #expect(run.status == 2 && !run.output.contains("OUTSIDE"), "\(run.output)")
    }

    @Test(arguments: [
        "Authorization: Bearer abcDEF123", "password=hunter2secret", "https://user:hunter2secret@a.example/",
        "api_key: hunter2secret", "x eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJ4In0.c2ln", "?token=hunter2secret&b=1",
        "key 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b",
    ])
    func noSecretIsShown(_ text: String) {
        let shown = SecretText.redacted(text, hidesUnnamed: true)
        #expect(shown.contains("(hidden)"))
        for secret in ["hunter2secret", "abcDEF123", "eyJz", "9f86d0"] { #expect(!shown.contains(secret), "\(shown)") }
        let plain =
            "NSExceptionAllowsInsecureHTTPLoads for api.example.com: the token is gone, see TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"
        #expect(SecretText.redacted(plain, hidesUnnamed: true) == plain)
    }
}
