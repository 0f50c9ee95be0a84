// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ATSLint
import AppTransportSecurity
import Foundation
import PropertyLists
import Testing
import Vocabulary

/// Dictionaries that real projects have, and those that scanners commonly misread.
@Suite struct RealDictionaryTests {
    struct Expected: Sendable, CustomTestStringConvertible {
        let file: String
        let rules: [String: Int]
        var testDescription: String { file }
    }

    static let all: [Expected] = {
        let file = LintFixtures.vectors.appendingPathComponent("expected.json")
        guard let data = try? Data(contentsOf: file),
            let table = try? JSONDecoder().decode([String: [String: Int]].self, from: data)
        else { return [] }
        return table.sorted { $0.key < $1.key }.map { Expected(file: $0.key, rules: $0.value) }
    }()

    @Test func thereAreAll() {
        #expect(Self.all.count { $0.file.hasPrefix("real/") } >= 27)
        #expect(Self.all.count { $0.file.hasPrefix("tricky/") } == 12)
    }

    @Test(arguments: all) func givesTheExpectedFindings(_ expected: Expected) throws {
        let bytes = Array(try Data(contentsOf: LintFixtures.vectors.appendingPathComponent(expected.file)))
        let document = try PlistReader.read(bytes)
        let result = Linter.lint(LintSubject(path: expected.file, document: document))
        #expect(LintFixtures.rules([result]) == expected.rules, "\(result.findings.map(\.finding.message))")
        for finding in result.findings { #expect((finding.finding.location != nil) == (document.format == .xml)) }
    }
}
