// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import Vocabulary

@Suite struct CivilDateTests {
    @Test(arguments: [
        (1970, 1, 1, 0), (1969, 12, 31, -1), (2000, 2, 29, 11_016), (2000, 3, 1, 11_017), (1900, 2, 28, -25_509),
        (1900, 3, 1, -25_508), (2026, 11, 21, 20_778), (1, 1, 1, -719_162), (9999, 12, 31, 2_932_896),
        (0, 2, 29, -719_469), (-1, 12, 31, -719_529),
    ])
    func isTheDayThatCalendarsSay(_ year: Int, _ month: Int, _ day: Int, _ days: Int) {
        let date = CivilDate(year: year, month: month, day: day)
        #expect(date.daysSince1970 == days)
        #expect(CivilDate(daysSince1970: days) == date)
    }

    @Test func agreesWithFoundationAndComesBack() throws {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = try #require(TimeZone(identifier: "UTC"))
        // Foundation changes to the Julian calendar before 1582-10-15.
        for days in stride(from: -141_427, to: 2_932_896, by: 2_003) {
            let parts = calendar.dateComponents(
                [.year, .month, .day], from: Date(timeIntervalSince1970: Double(days) * 86_400))
            let date = CivilDate(daysSince1970: days)
            #expect(date == CivilDate(year: parts.year ?? 0, month: parts.month ?? 0, day: parts.day ?? 0))
            #expect(date.daysSince1970 == days)
        }
    }

    @Test(arguments: [
        (0, "1970-01-01"), (-1, "1969-12-31"), (86_399, "1970-01-01"), (Int.min, "0001-01-01"), (Int.max, "9999-12-31"),
    ])
    func isWrittenWithFourDigits(_ seconds: Int, _ text: String) { #expect(CivilDate.text(seconds) == text) }
}
