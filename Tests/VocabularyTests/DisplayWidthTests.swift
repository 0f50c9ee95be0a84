// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Testing
import Vocabulary

/// What a terminal does with a text.
@Suite struct DisplayWidthTests {
    @Test(
        arguments: [
            ("", 0), ("plain", 5), ("naïve", 5), ("nai\u{308}ve", 5), ("例え", 4), ("ｆｕｌｌ", 8), ("한국", 4),
            ("\u{1112}\u{1161}\u{11ab}", 2), ("🔒", 2), ("👩🏽‍🚀", 2), ("🇩🇪", 2), ("❤\u{FE0F}", 2), ("❤", 1),
            ("a\u{200B}b", 2), ("\u{1B}[1;31merror\u{1B}[0m", 5), ("…→", 2),
        ]
    )
    func aTextHasTheColumnsThatATerminalGivesIt(_ text: String, _ columns: Int) {
        #expect(text.displayWidth == columns)
    }

    @Test func columnsAlignWhateverTheyHold() {
        let names = ["shop", "例え.example", "re\u{301}sume\u{301}", "👩🏽‍🚀"]
        #expect(names.map { $0.padded(to: 14).displayWidth } == [14, 14, 14, 14])
        #expect("例".aligned(to: 4) == "  例" && "longer".padded(to: 3) == "longer")
    }

    @Test func aSentenceIsBrokenBelowItsBeginning() {
        let text = """
              because   one two three four five six seven
              -> eight nine ten eleven twelve thirteen
            """
        #expect(
            text.wrapped(to: 25) == """
                  because   one two three
                            four five six
                            seven
                  -> eight nine ten
                     eleven twelve
                     thirteen
                """
        )
    }

    @Test func wideCharactersCountTwice() {
        #expect("例え 例え 例え".wrapped(to: 9) == "例え 例え\n例え")
    }

    @Test(
        arguments: [
            "https://example.com/a/very/long/path", "fix  https://example.com/a/very/long/path",
            "    <string>a value with spaces</string>", "'sealward ats check example.com'", "", "\n\n",
            "  next     sealward attest verify - --challenge reboot",
        ]
    )
    func valuesStayWhole(_ text: String) { #expect(text.wrapped(to: 20) == text) }

    /// A name of many marks, and one without a space, cost what their length costs.
    @Test func hostileTextIsNoWork() {
        let marks = String(repeating: "\u{301}", count: 100_000)
        #expect("a\(marks)".displayWidth == 1)
        let word = String(repeating: "x", count: 100_000)
        #expect("  \(word) \(marks)".wrapped(to: 100).utf8.count >= 300_000)
        #expect(String(repeating: "' ", count: 50_000).wrapped(to: 100).utf8.count >= 90_000)
    }
}
