// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ATSLint
import Testing
import Vocabulary

/// What lint advises about keys that the evaluator reads, and that are rarely meant.
@Suite struct HostKeyAdviceTests {
    private static func findings(
        _ key: String, _ entry: String = "", beside others: String = ""
    ) throws -> [(rule: String, words: String)] {
        try LintFixtures.lint(
            ats: "<key>NSExceptionDomains</key><dict>\(others)<key>\(key)</key><dict>\(entry)"
                + "<key>NSExceptionAllowsInsecureHTTPLoads</key><true/></dict></dict>",
            root: "<key>MinimumOSVersion</key><string>15.0</string>"
        ).findings.map(\.finding).map { ($0.rule, "\($0.message) -> \($0.fix ?? "")") }
    }

    @Test("A key with a final dot is right for URLs that have the dot, as explain advises it")
    func finalDot() throws {
        let words = try #require(try Self.findings("example.com.").first { $0.rule == "ATS008" }).words
        #expect(words.contains("covers only URLs whose host ends with a dot too"), "\(words)")
        #expect(words.hasSuffix("-> Write 'example.com', unless the app's URLs have the dot."), "\(words)")
        // A name with a dot at its end is not local, and no other entry is for it.
        for (key, others) in [("nas.", ""), ("a.example.", "<key>a.example</key><dict/>")] {
            let words = try #require(try Self.findings(key, beside: others).first { $0.rule == "ATS008" }).words
            #expect(words.contains("-> Remove") && words.contains(", unless the app's URLs have the dot:"), "\(words)")
        }
    }

    @Test("A top-level domain is local only because it has no dot")
    func topLevelDomain() throws {
        let subdomains = "<key>NSIncludesSubdomains</key><true/>"
        let reason = "ATS counts every name without a dot as local."
        let below = try #require(try Self.findings("com", subdomains).first { $0.rule == "ATS015" }).words
        #expect(below.contains("Name the hosts below com") && below.hasSuffix(reason), "\(below)")
        #expect(!below.contains("com itself is local"), "\(below)")
        let alone = try #require(try Self.findings("com").first { $0.rule == "ATS023" }).words
        #expect(alone.contains(reason), "\(alone)")
        // A name of the local network needs no reason.
        for key in ["nas.local", "localhost"] {
            let words = try Self.findings(key, subdomains).map(\.words)
            #expect(!words.contains { $0.contains(reason) }, "\(words)")
        }
    }
}
