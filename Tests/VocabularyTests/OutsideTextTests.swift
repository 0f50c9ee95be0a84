// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Testing
import Vocabulary

/// Text from outside: compared by bytes, and shown without steering a terminal.
struct OutsideTextTests {
    /// `e` with an acute accent in its two forms: equal to `String`, different names outside.
    @Test func keysOfDifferentBytesDiffer() {
        #expect("\u{E9}" == "e\u{301}")
        #expect(UTF8Key("\u{E9}") != UTF8Key("e\u{301}"))
        #expect(Set([UTF8Key("\u{E9}"), UTF8Key("e\u{301}"), UTF8Key("\u{E9}")]).count == 2)
        #expect(UTF8Key("name") == "name")
        #expect(!"\u{E9}".hasSameBytes(as: "e\u{301}"))
        #expect(UTF8Key("Z") < UTF8Key("\u{E9}"))
    }

    /// A hundred thousand marks in the wrong order: `String` needs minutes of sorting, bytes do not.
    @Test(.timeLimit(.minutes(1)))
    func marksCostNoMoreThanLetters() {
        let marks = "a" + String(repeating: "\u{301}\u{316}", count: 50_000)
        let other = marks + "b"
        var table: [UTF8Key: Int] = [:]
        for index in 0..<100 { table[UTF8Key(index % 2 == 0 ? marks : other)] = index }
        #expect(table.count == 2)
    }

    @Test(arguments: [
        ("plain", "plain"), ("a\u{1B}[31mb", "a\\u{1b}[31mb"), ("a\nb\r", "a\\u{a}b\\u{d}"), ("\u{9B}2J", "\\u{9b}2J"),
        ("a\u{202E}b", "a\\u{202e}b"), ("\u{2066}x\u{2069}", "\\u{2066}x\\u{2069}"), ("\u{2028}", "\\u{2028}"),
        ("b\u{FC}cher", "b\u{FC}cher"),
    ])
    func shownTextSteersNothing(_ text: String, _ shown: String) { #expect(text.terminalSafe == shown) }

    /// What Azure Pipelines, GitHub Actions and TeamCity read in a log, and what only looks like it.
    @Test(arguments: [
        ("a ##vso[task.x]b", "a #\\#vso[task.x]b"), ("##[group]x", "#\\#[group]x"), ("###[x", "##\\#[x"),
        ("##TeamCity[x]", "#\\#TeamCity[x]"), ("::stop-commands::x", "\\::stop-commands::x"),
        ("a\n \u{A0}::error::x", "a\n \u{A0}\\::error::x"), ("a\u{2028}::add-mask::x", "a\u{2028}\\::add-mask::x"),
        ("fe80::1", "fe80::1"), ("::1", "::1"), ("a ::b", "a ::b"), ("## Heading", "## Heading"), ("#[x]", "#[x]"),
        ("##a b[", "##a b["), ("x: y", "x: y"),
    ])
    func shownTextCommandsNoBuildMachine(_ text: String, _ shown: String) {
        #expect(text.commandSafe == shown)
        #expect(shown.commandSafe == shown)
    }

    @Test func longTextIsCutByBytesAtAScalar() {
        #expect("abcdef".terminalSafe(limit: 3) == "abc...")
        #expect("abc".terminalSafe(limit: 3) == "abc")
        #expect("\u{FC}\u{FC}".terminalSafe(limit: 3) == "\u{FC}...")
        let oneCharacter = "a" + String(repeating: "\u{301}", count: 10_000)
        #expect(oneCharacter.terminalSafe(limit: 64).utf8.count < 80)
    }
}
