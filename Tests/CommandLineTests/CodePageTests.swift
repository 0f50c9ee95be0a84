// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

/// `sealward explain`, and the page that is made from the same tables.
@Suite struct CodePageTests {
    @Test func thePageOfTheCodesIsCurrent() throws {
        let run = try ProgramRun(["explain", "--format", "markdown"])
        let page = try String(contentsOfFile: LoopbackServers.repository + "/docs/errors.md", encoding: .utf8)
        let different = zip(page.split(separator: "\n"), run.output.split(separator: "\n")).first { $0 != $1 }
        #expect(page == run.output, "run: make docs \(different.map { "\($0.0)\n\($0.1)" } ?? "")")
    }

    @Test func everyCodeSaysWhatToDoOnce() throws {
        let codes = try #require(try ProgramRun(["explain", "--format", "json"]).json["codes"] as? [[String: Any]])
        #expect(codes.count > 150)
        var seen: Set<String> = []
        for row in codes {
            let code = try #require(row["code"] as? String)
            #expect(seen.insert(code).inserted, "\(code) is explained twice")
            for member in ["meaning", "who", "action"] {
                let text = row[member] as? String ?? ""
                #expect(!text.isEmpty && !text.hasSuffix("."), "\(code): \(member) is '\(text)'")
            }
        }
    }

    @Test(arguments: [
        (
            "ats.trust.missing-intermediate",
            ["who     the server's administrator", "do      send the intermediate certificate"]
        ),
        ("token.spent", ["HTTP    status 409, retry new-challenge"]),
        ("urn:sealward:problem:token.spent", ["HTTP    status 409"]),
        ("attest.app-id.mismatch", ["who     Sealward's administrator", "HTTP    status 403, retry never"]),
        ("ats011", ["ATS011", "--fix"]),
    ])
    func oneCodeIsExplained(_ code: String, _ sentences: [String]) throws {
        let run = try ProgramRun(["explain", code], environment: ["NO_COLOR": "1", "COLUMNS": "100"])
        #expect(run.status == 0 && run.errors.isEmpty, "\(run.errors)")
        for sentence in sentences { #expect(run.output.contains(sentence), "\(run.output)") }
        let lines = run.output.split(separator: "\n").filter { !$0.hasPrefix("or ") }
        #expect(lines.allSatisfy { $0.count <= 100 } || code == "ats011", "\(run.output)")
    }

    @Test(arguments: [
        ("token.spend", "Did you mean 'token.spent'?"),
        ("version-too-low", "Did you mean 'ats.tls.version-too-low'?"),
        ("nothing like it", "'sealward explain' lists them all."),
        ("to\u{212A}en.spent\u{7}", "There is no code"),
    ])
    func anUnknownCodeIsUsage(_ code: String, _ sentence: String) throws {
        let run = try ProgramRun(["explain", code])
        #expect(run.status == 64 && run.output.isEmpty)
        #expect(run.errors.contains(sentence) && !run.errors.contains("\u{7}"), "\(run.errors)")
    }

    @Test(arguments: ["password=hunter2", "https://bob:hunter2@a.example/", "curl -H 'X-Api-Key: hunter2' a.example"])
    func aSecretInUnknownWordsIsNotRepeated(_ words: String) throws {
        let run = try ProgramRun(["explain", words])
        #expect(run.status == 64 && run.errors.contains("(hidden)") && !run.errors.contains("hunter2"), "\(run.errors)")
    }
}
