// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Testing
import Vocabulary

/// Numbers in header fields, queries and receipts: digits, and nothing else.
struct DecimalNumberTests {
    @Test(
        arguments: [
            ("0", 0), ("7", 7), ("007", 7), ("999999999", 999_999_999), ("9223372036854775807", Int.max),
            ("9223372036854775808", nil), ("10000000000000000000", nil), ("", nil), ("+5", nil), ("-0", nil),
            (" 5", nil),
            ("5 ", nil), ("5.0", nil), ("0x5", nil), ("1_000", nil), ("\u{665}", nil), ("5\u{301}", nil),
            ("\u{FF15}", nil),
        ] as [(String, Int?)]
    )
    func digitsAlone(_ text: String, _ number: Int?) { #expect(text.decimalNumber(digits: 19) == number) }

    @Test func theLimitCountsZeros() {
        #expect("00012".decimalNumber(digits: 5) == 12)
        #expect("00012".decimalNumber(digits: 4) == nil)
        #expect("123".decimalNumber(digits: 0) == nil)
    }

    @Test(
        arguments: [
            ("120", 120), ("86400", 86_400), ("86401", 86_400), ("0", 0), ("Wed, 21 Oct 2026 07:28:00 GMT", nil),
            ("-1", nil),
            ("+1", nil), ("99999999999999999999", nil),
        ] as [(String, Int?)]
    )
    func aPauseIsAtMostADay(_ text: String, _ seconds: Int?) { #expect(text.retryAfterSeconds == seconds) }
}
