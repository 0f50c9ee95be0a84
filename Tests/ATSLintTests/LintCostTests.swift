// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import PropertyLists
import TestSupport
import Testing
import Vocabulary

@testable import ATSLint

/// Large lists cost what their size says, and a report stays within its bounds.
@Suite struct LintCostTests {
    private static func hosts(_ count: Int, _ entry: (Int) -> String) throws -> LintSubject {
        let entries = (0..<count).map(entry).joined()
        return try LintFixtures.subject(
            "<plist><dict><key>NSAppTransportSecurity</key><dict><key>NSExceptionDomains</key><dict>\(entries)</dict></dict></dict></plist>"
        )
    }

    private static func cost(_ subject: LintSubject) -> Double { CPUTime.measure { _ = Linter.lint(subject) } }

    /// Four times the hosts take about four times the time: a rule that looks at every host for every host takes sixteen times.
    @Test(
        Measuring.only,
        arguments: [
            "<dict><key>NSExceptionAllowsInsecureHTTPLoads</key><true/></dict>",
            "<dict><key>NSIncludesSubdomains</key><true/></dict>",
            "<dict/>", "<true/>",
        ]) func hostsAreLinear(_ value: String) throws
    {
        let few = try Self.hosts(1_500) { "<key>h\($0).x</key>\(value)" }
        let many = try Self.hosts(6_000) { "<key>h\($0).x</key>\(value)" }
        #expect(Self.cost(many) < 10 * Self.cost(few) + 0.2)
    }

    @Test(Measuring.only) func equalKeysAreLinear() throws {
        let few = try Self.hosts(1_000) { _ in "<key>a.b</key><dict/>" }
        let many = try Self.hosts(4_000) { _ in "<key>a.b</key><dict/>" }
        #expect(Self.cost(many) < 10 * Self.cost(few) + 0.2)
    }

    /// Keys of up to 30 marks behind each letter, the most that is read, against keys of letters of the same length.
    @Test(Measuring.only) func keysOfMarksCostLikeLetters() throws {
        let marks = String(repeating: "\u{301}\u{316}", count: 15)
        let letters = String(repeating: "abcd", count: 15)
        let value = "<dict><key>NSIncludesSubdomains</key><true/></dict>"
        let hostile = Self.cost(try Self.hosts(1_000) { "<key>a\($0)\(marks).b\(marks)</key>\(value)" })
        let ordinary = Self.cost(try Self.hosts(1_000) { "<key>a\($0)\(letters).b\(letters)</key>\(value)" })
        #expect(hostile < 5 * ordinary + 0.2)
    }

    @Test(Measuring.only) func namesOfManyLabelsAreBounded() throws {
        let value = "<dict><key>NSIncludesSubdomains</key><true/></dict>"
        let dots = String(repeating: ".", count: 1_000)
        let hostile = Self.cost(try Self.hosts(500) { "<key>\(dots)x\($0)</key>\(value)" })
        let letters = String(repeating: "a", count: 1_000)
        let ordinary = Self.cost(try Self.hosts(500) { "<key>\(letters).x\($0)</key>\(value)" })
        #expect(hostile < 5 * ordinary + 0.5)
    }

    @Test func findingsHaveALimitThatIsTold() throws {
        let result = Linter.lint(try Self.hosts(10_100) { "<key>h\($0)</key><true/>" })
        #expect(result.findings.count == FindingAllowance.findings)
        #expect(result.omitted >= 100)
        let few = Linter.lint(try Self.hosts(3) { "<key>h\($0)</key><true/>" })
        #expect(few.omitted == 0)
    }

    @Test func notesAreLeftOutBeforeErrors() throws {
        var hits = Hits(FindingAllowance.bytes, of: try Self.hosts(1) { _ in "" })
        func hit(_ severity: Severity, _ number: Int) -> Hit {
            Hit(severity: severity, keyPath: ["h\(number)"], offset: 0, message: "", fix: nil)
        }
        hits.rule = try #require(RuleCatalog.all.firstIndex { $0.severity == .error })
        for number in 0..<FindingAllowance.findings { hits.add(hit(number == 0 ? .error : .note, number)) }
        #expect(hits.omitted == 0)
        hits.add(hit(.note, -1))
        hits.add(hit(.error, -2))
        #expect(hits.omitted == 2 && hits.all.count == FindingAllowance.findings)
        #expect(Set(hits.all.filter { $0.hit.severity == .error }.map(\.hit.keyPath)) == [["h0"], ["h-2"]])
    }

    @Test func aRunHasALimitToo() throws {
        let list = try Self.hosts(20) { "<key>h\($0)</key><true/>" }
        let results = Linter.lint([list, list, list, list], 30_000)
        #expect(results.first?.omitted == 0 && results.last?.findings.isEmpty == true)
        #expect(results.last.map { $0.omitted >= 20 } == true)
    }

    /// The member that a duplicate hides is found whatever the size and the depth of what is around.
    @Test func theEarlierOfTwoKeysIsFound() throws {
        let text =
            "<plist><dict><key>y</key><array><dict><key>d</key><true/><key>d</key><false/></dict></array><key>x</key><dict><key>a</key><true/><key>b</key><dict><key>c</key><true/><key>c</key><false/></dict>"
            + "<key>a</key><false/><key>a</key><true/></dict></dict></plist>"
        let subject = try LintFixtures.subject(text)
        let result = Linter.lint(subject)
        let fixes = result.findings.filter { $0.finding.rule == "ATS035" }.compactMap(\.edits.first)
        let removed = fixes.map { String(decoding: subject.document.source[$0.range], as: UTF8.self) }
        #expect(
            removed == [
                "<key>d</key><true/>", "<key>c</key><true/>", "<key>a</key><true/>", "<key>a</key><false/>",
            ])
    }

    @Test func baselinesAreReadByBytesWithinLimits() throws {
        func baseline(_ path: (Int) -> String) -> [UInt8] {
            let lines = (0..<500).map { #"{"path":"\#(path($0))","rule":"ATS001","keyPath":"a","count":1}"# }
            return Array(#"{"schema":"sealward.ats-baseline/1","findings":[\#(lines.joined(separator: ","))]}"#.utf8)
        }
        let marks = baseline { "a" + String(repeating: "\u{301}\u{316}", count: 500) + "\($0)" }
        let letters = baseline { "a" + String(repeating: "abcd", count: 500) + "\($0)" }
        let ordinary = try CPUTime.measure { _ = try Baseline(json: letters) }
        let hostile = try CPUTime.measure { _ = try Baseline(json: marks) }
        #expect(Measuring.isOff || hostile < 5 * ordinary + 0.05)
        let wide = Array(
            #"{"schema":"sealward.ats-baseline/1","findings":[\#(String(repeating: "0,", count: 1_000_001))0]}"#.utf8)
        #expect(throws: MalformedInput(code: "malformed.baseline", reason: "")) { try Baseline(json: wide) }
        for text in ["", "[]", "{}", #"{"schema":1}"#, #"{"schema":"sealward.ats-baseline/1","findings":[{}]}"#] {
            #expect(throws: MalformedInput(code: "malformed.baseline", reason: "")) {
                try Baseline(json: Array(text.utf8))
            }
        }
        let negative =
            #"{"schema":"sealward.ats-baseline/1","findings":[{"path":"a","rule":"b","keyPath":"c","count":-9223372036854775808}]}"#
        #expect(throws: Never.self) { try Baseline(json: Array(negative.utf8)) }
    }

    @Test func numbersOfVersionsDoNotTrap() throws {
        for text in [
            "99999999999999999999", "9223372036854775807", "-1", String(repeating: "0", count: 100) + "9", "15.-3",
        ] {
            let root =
                "<key>MinimumOSVersion</key><string>\(text)</string><key>DTPlatformName</key><string>xros</string>"
            _ = try LintFixtures.lint(ats: "", root: root)
        }
    }

    @Test(Measuring.only) func weakeningsOfManyHostsAreLinear() throws {
        let strict = try Self.hosts(1) { _ in "" }
        let value = "<dict><key>NSExceptionAllowsInsecureHTTPLoads</key><true/></dict>"
        let few = try Self.hosts(200) { "<key>h\($0).x</key>\(value)" }
        let many = try Self.hosts(800) { "<key>h\($0).x</key>\(value)" }
        let small = CPUTime.measure { _ = Linter.weakenings(from: strict, to: few) }
        let large = CPUTime.measure { _ = Linter.weakenings(from: strict, to: many) }
        #expect(large < 10 * small + 0.2)
    }
}
