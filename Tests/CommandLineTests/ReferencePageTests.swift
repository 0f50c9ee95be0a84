// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

/// What the name alone prints, completions, and suggestions for misspelled words. `Scripts/doc-commands` compares the pages of the commands.
@Suite struct ReferencePageTests {
    @Test func theNameAloneShowsThreeExamplesAndEveryCommand() throws {
        let run = try ProgramRun([])
        #expect(run.status == 0 && run.errors.isEmpty, "\(run.errors)")
        let lines = run.output.split(separator: "\n", omittingEmptySubsequences: false)
        #expect(lines.filter { $0.hasPrefix("      sealward ") }.count == 3)
        #expect(lines.allSatisfy { $0.count <= 100 }, "\(run.output)")
        let help = try ProgramRun(["--help"]).output.components(separatedBy: "SUBCOMMANDS:").last ?? ""
        let names = help.matches(of: #/(?m)^  ([a-z]+)/#).map { String($0.output.1) }
        #expect(names.count > 10)
        for name in names { #expect(run.output.contains(name), "\(name) is missing:\n\(run.output)") }
    }

    @Test(arguments: [("bash", "_sealward"), ("zsh", "#compdef sealward"), ("fish", "complete -c")])
    func completionsAreWritten(_ shell: String, _ words: String) throws {
        let run = try ProgramRun(["completions", shell])
        #expect(run.status == 0 && run.output.contains(words), "\(run.errors)")
        #expect(run.output.contains("expires-within"), "the options of ats check are missing")
    }

    @Test func shellsWithoutCompletionsAreNamed() throws {
        let run = try ProgramRun(["completions", "csh"])
        #expect(run.status == 64 && run.errors.contains("bash"), "\(run.errors)")
    }

    @Test(arguments: [
        (["ats", "check", "--formt", "json", "example.com"], "Did you mean '--format'?"),
        (["ats", "explain", "--ats-jsno", "x"], "Did you mean '--ats-json'?"),
        (["serve", "--confg", "x"], "Did you mean '--config'?"),
        (["comletions", "bash"], "Did you mean 'completions'?"),
    ])
    func misspelledWordsAreSuggested(_ words: [String], _ sentence: String) throws {
        let run = try ProgramRun(words)
        #expect(run.status == 64 && run.errors.contains(sentence), "\(run.errors)")
    }
}
