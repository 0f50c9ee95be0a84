// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import Foundation
import PropertyLists
import Testing
import Vocabulary

@testable import ATSLint

@Suite struct RuleExampleTests {
    @Test(arguments: RuleCatalog.all) func firesOnItsExample(_ rule: Rule) throws {
        let found = try LintFixtures.results(rule.fires)
        #expect(LintFixtures.rules(found)[rule.id, default: 0] > 0, "\(found.flatMap(\.findings).map(\.finding))")
        for finding in found.flatMap(\.findings) {
            #expect(finding.finding.location != nil)
            #expect(finding.finding.severity <= (RuleCatalog.rule(finding.finding.rule)?.severity ?? .note))
        }
    }

    @Test(arguments: RuleCatalog.all) func passesTheCorrectedExample(_ rule: Rule) throws {
        #expect(LintFixtures.rules(try LintFixtures.results(rule.passes))[rule.id] == nil)
    }

    @Test(arguments: RuleCatalog.all) func isSilentWhereItDoesNotApply(_ rule: Rule) throws {
        #expect(LintFixtures.rules(try LintFixtures.results(rule.notApplicable))[rule.id] == nil)
    }

    /// The fix of an example makes the finding go away, adds none, loosens nothing, and leaves the other lines alone.
    @Test(arguments: RuleCatalog.all.filter { $0.fixDescription != nil }) func fixesItsExample(_ rule: Rule) throws {
        let subject = try LintFixtures.subject(rule.fires.infoPlist)
        let before = LintFixtures.rules([Linter.lint(subject)])
        let fixer = PlistFixer(subject) { try? PlistReader.read($0) }
        #expect(fixer.steps.contains { $0.finding.rule == rule.id }, "\(fixer.declined)")
        let fixed = try LintFixtures.subject(String(decoding: fixer.text, as: UTF8.self))
        let result = Linter.lint(fixed)
        #expect(LintFixtures.rules([result])[rule.id] == nil)
        // Notes say what a key does that now is read.
        for finding in result.findings.map(\.finding) where finding.severity > .note {
            #expect(before[finding.rule] != nil, "\(finding.rule) was added")
        }
        #expect(PolicyDifference(old: subject, new: fixed).isEmpty)
        let oldLines = Set(rule.fires.infoPlist.split(separator: "\n"))
        let changed = String(decoding: fixer.text, as: UTF8.self).split(separator: "\n").filter {
            !oldLines.contains($0)
        }
        #expect(changed.count <= 2)
    }

    @Test func rulesWithoutAFixOfferNone() throws {
        for rule in RuleCatalog.all where rule.fixDescription == nil {
            for finding in try LintFixtures.results(rule.fires).flatMap(\.findings)
            where finding.rules == [rule.id] {
                #expect(finding.edits.isEmpty, "\(rule.id)")
            }
        }
    }

    @Test func idsAreUniqueAndInOrder() {
        let ids = RuleCatalog.all.map(\.id)
        #expect(ids == Set(ids).sorted())
        for rule in RuleCatalog.all {
            #expect(!rule.reason.isEmpty && !rule.summary.isEmpty && !rule.citation.source.isEmpty)
            #expect(rule.summary.hasSuffix("."))
        }
    }

    @Test func severitiesAreThoseOfTheCatalogue() {
        let errors = [1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 18, 19, 23, 26, 29, 32]
        let notes = [17, 22, 27, 31, 33]
        for number in 1...33 {
            let id = "ATS0" + (number < 10 ? "0\(number)" : "\(number)")
            let expected: Severity = errors.contains(number) ? .error : notes.contains(number) ? .note : .warning
            #expect(RuleCatalog.rule(id)?.severity == expected, "\(id)")
        }
    }

    @Test func thePageOfTheRulesIsCurrent() throws {
        let page = LintFixtures.root.appendingPathComponent("docs/rules.md")
        #expect(try String(contentsOf: page, encoding: .utf8) == RuleBook.markdown(), "run: make docs")
    }
}
