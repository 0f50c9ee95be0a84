// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import DeviceCheckBits
import Foundation
import Testing

@Suite struct YearMonthTests {
    @Test(arguments: [
        ("2026-11", 2026, 11), ("1970-01", 1970, 1), ("0000-01", 0, 1), ("9999-12", 9999, 12),
    ])
    func readsAndPrints(text: String, year: Int, month: Int) throws {
        let value = try #require(YearMonth(text))
        #expect(value.year == year)
        #expect(value.month == month)
        #expect(value.description == text)
    }

    @Test(arguments: [
        "", "2026-13", "2026-00", "2026-1", "26-11", "2026/11", "2026-11-21", "2026-1x", "２０２６-11", "+026-11",
    ])
    func refusesOtherShapes(text: String) {
        #expect(YearMonth(text) == nil)
    }

    @Test(arguments: [
        (0.0, "1970-01"), (-1.0, "1969-12"), (951_782_400.0, "2000-02"), (951_868_800.0, "2000-03"),
        (1_795_305_599.0, "2026-11"), (1_796_083_199.0, "2026-11"), (1_796_083_200.0, "2026-12"),
        (4_107_542_400.0, "2100-03"),
        (1e300, "9999-12"), (-1e300, "0000-01"),
    ])
    func monthOfAnInstant(seconds: Double, month: String) {
        #expect(YearMonth(containing: Date(timeIntervalSince1970: seconds)).description == month)
    }

    @Test func agreesWithTheCalendarOfFoundation() throws {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = try #require(TimeZone(identifier: "UTC"))
        for day in stride(from: 0.0, to: 60_000, by: 7) {
            let date = Date(timeIntervalSince1970: day * 86_400 + 1)
            let parts = calendar.dateComponents([.year, .month], from: date)
            let month = YearMonth(containing: date)
            #expect(month.year == parts.year && month.month == parts.month)
        }
    }

    @Test func countsMonths() throws {
        let earlier = try #require(YearMonth("2025-12"))
        let later = try #require(YearMonth("2026-02"))
        #expect(later.months(since: earlier) == 2)
        #expect(earlier.months(since: later) == -2)
        #expect(earlier < later)
    }
}
