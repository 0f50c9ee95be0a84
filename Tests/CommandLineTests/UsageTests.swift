// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

/// What the program says to a slip of the hand, and what it never shows.
@Suite struct UsageTests {
    let folder: TemporaryDirectory

    init() throws { folder = try TemporaryDirectory() }

    private func write(_ text: String, _ name: String) throws -> String {
        try text.write(toFile: folder.path(name), atomically: true, encoding: .utf8)
        return folder.path(name)
    }

    @Test(
        arguments: [
            (["ats", "chek", "x"], "'sealward ats' has no subcommand 'chek'. Did you mean 'check'?"),
            (["atz"], "'sealward' has no subcommand 'atz'. Did you mean 'ats'?"),
            (["keys", "forget"], "Its subcommands are list, revoke, delete."),
            (["simulate", "fleat"], "Did you mean 'fleet'?"),
            (["receipt", "verifi", "--help"], "Did you mean 'verify'?"),
            (["ats", "che\u{301}ck\u{7}"], "has no subcommand"),
        ]
    )
    func aMisspelledSubcommandIsNamedWithTheOneThatWasMeant(_ words: [String], _ sentence: String) throws {
        let run = try ProgramRun(words)
        #expect(run.status == 64)
        #expect(run.errors.contains(sentence), "\(run.errors)")
        #expect(run.output.isEmpty && !run.errors.contains("\u{7}"))
    }

    @Test(arguments: [["--version"], ["help"], ["help", "ats"], ["ats", "--help"], ["ats", "check", "--help"]])
    func whatIsAskedForIsNoSlip(_ words: [String]) throws {
        let run = try ProgramRun(words)
        #expect(run.status == 0 && run.errors.isEmpty, "\(run.errors)")
    }

    @Test(arguments: ["text", "json"])
    func aPasswordInAURLIsShownNowhere(_ format: String) throws {
        let run = try ProgramRun(["ats", "explain", "http://anna:secret@h.example/a", "--format", format])
        #expect(run.status == 1)
        #expect(run.output.contains("http://h.example/a"), "\(run.output)")
        #expect(!run.output.contains("secret") && !run.output.contains("anna"), "\(run.output)")
    }

    @Test func explainNamesTheTimestampsThatAnEntryRequires() throws {
        let file = try write(
            #"{"NSExceptionDomains":{"example.com":{"NSRequiresCertificateTransparency":true}}}"#,
            "ats.json"
        )
        func needs(_ os: String) throws -> String {
            try ProgramRun(["ats", "explain", "https://example.com/", "--ats-json", file, "--os", os]).output
        }
        #expect(try needs("ios10").contains("signed certificate timestamps"))
        #expect(try !needs("macos26").contains("signed certificate timestamps"))
    }

    @Test func anArchiveThatIsNoneIsNoPropertyListEither() throws {
        let run = try ProgramRun(["ats", "lint", try write("junk", "Shop.ipa")])
        #expect(run.status == 2)
        #expect((run.errors + run.output).contains("is no zip archive"), "\(run.errors)\(run.output)")
    }

    @Test func aNewBaselineSaysWhatItTolerates() throws {
        let list = try write(
            #"<plist version="1.0"><dict><key>NSAppTransportSecurity</key><dict><key>NSAllowArbitraryLoads</key><true/></dict></dict></plist>"#,
            "Info.plist"
        )
        let baseline = folder.path("baseline.json")
        let run = try ProgramRun(["ats", "lint", list, "--baseline", baseline, "--update-baseline"])
        #expect(run.errors == "\(baseline): written; it tolerates 1 finding.\n", "\(run.errors)")
        let quiet = try ProgramRun(["ats", "lint", list, "--baseline", baseline + "2", "--update-baseline", "--quiet"])
        #expect(quiet.errors.isEmpty, "\(quiet.errors)")
    }

    @Test func everyLineOfJSONLIsADocument() throws {
        let run = try ProgramRun([
            "ats", "check", "http://a.example/", "http://b.example/", "--no-http", "--format", "jsonl",
        ])
        let lines = run.output.split(separator: "\n")
        #expect(lines.count == 2, "\(run.errors)")
        for line in lines {
            let document = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
            #expect(document?["schema"] as? String == "sealward.ats-check-target/1")
            #expect(line.hasPrefix("{\"schema\":"), "\(line.prefix(60))")
        }
    }

    @Test func fleetsWaitOnlyAsLongAsTheyAreTold() throws {
        let port = try FreePort.take()
        let place = "http://127.0.0.1:\(port)"
        let run = try ProgramRun([
            "simulate", "fleet", "--service", place, "--apple", place, "--app", "shop",
            "--app-id", "SIMTEAM001.com.example.shop", "--wait", "0",
        ])
        #expect(run.status == 2)
        #expect(run.errors.split(separator: "\n").count == 1, "\(run.errors)")
    }

    @Test(arguments: ["", "1 2", "99999999999999999999999", "seed"])
    func aSeedFileWithoutASeedIsNamed(_ text: String) throws {
        let path = folder.path("seed")
        try text.write(toFile: path, atomically: true, encoding: .utf8)
        let run = try ProgramRun(["simulate", "apple", "--seed-file", path])
        #expect(run.status == 2)
        #expect(run.errors.contains(path), "\(run.errors)")
        #expect(try ProgramRun(["simulate", "apple", "--seed", "1", "--seed-file", "x"]).status == 64)
    }
}
