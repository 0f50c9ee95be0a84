// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import Vocabulary

@Suite struct RFC3339Tests {
    @Test(arguments: [
        ("2026-11-21T12:00:00Z", 1_795_262_400.0), ("2026-11-21t12:00:00z", 1_795_262_400),
        ("2026-11-21T13:30:00+01:30", 1_795_262_400), ("2026-11-21T10:59:00-01:01", 1_795_262_400),
        ("2026-11-21T12:00:00.5Z", 1_795_262_400.5), ("2026-11-21T12:00:00.1234567891234Z", 1_795_262_400.123456789),
        ("2024-02-29T00:00:00Z", 1_709_164_800), ("1969-12-31T23:59:59Z", -1),
        ("0000-01-01T00:00:00Z", -62_167_219_200),
    ])
    func instantsAreRead(_ text: String, _ seconds: Double) {
        // Dates count from 2001, so a fraction since 1970 has seven figures at most.
        let read = RFC3339.date(text.utf8)?.timeIntervalSince1970
        #expect(read.map { abs($0 - seconds) < 1e-6 } == true)
    }

    @Test(arguments: [
        "", "2026-11-21", "2026-11-21T12:00:00", "2026-11-21 12:00:00Z", "2026-11-31T12:00:00Z", "2023-02-29T00:00:00Z",
        "2026-13-01T00:00:00Z", "2026-00-01T00:00:00Z", "2026-01-00T00:00:00Z", "2026-11-21T24:00:00Z",
        "2026-11-21T12:60:00Z", "2026-11-21T12:00:60Z", "2026-11-21T12:00:00.Z", "2026-11-21T12:00:00+24:00",
        "2026-11-21T12:00:00+0100", "2026-11-21T12:00:00ZZ", "+026-11-21T12:00:00Z", "2026-11-21T12:00:00\u{661}Z",
        "2026-11-21T12:00:00." + String(repeating: "1", count: 30) + "Z",
    ])
    func anythingElseIsRefused(_ text: String) {
        #expect(RFC3339.date(text.utf8) == nil)
    }

    @Test func aDayIsItsMidnight() {
        #expect(RFC3339.day("2026-11-21".utf8) == Date(timeIntervalSince1970: 1_795_219_200))
        for text in ["2026-11-31", "2026-11-2", "2026-11-211", "2026/11/21", ""] {
            #expect(RFC3339.day(text.utf8) == nil)
        }
    }

    /// Foundation writes the same, before and after 1970 and back to the first day of its Gregorian calendar.
    @Test(arguments: [0, -1, -0.5, 1_795_262_400, 1_709_164_799.9, 253_402_300_799, -12_219_292_800])
    func textIsThatOfFoundation(_ seconds: Double) {
        let instant = Date(timeIntervalSince1970: seconds)
        let whole = Date(timeIntervalSince1970: seconds.rounded(.down))
        #expect(RFC3339.text(instant) == whole.formatted(.iso8601))
        #expect(RFC3339.date(RFC3339.text(instant).utf8) == whole)
    }

    @Test(arguments: [Double.infinity, -.infinity, .nan, 1e300, -1e300])
    func instantsWithoutAYearAreMovedInside(_ seconds: Double) {
        #expect(RFC3339.date(RFC3339.text(Date(timeIntervalSince1970: seconds)).utf8) != nil)
    }
}
