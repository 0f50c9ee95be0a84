// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import FoundationEssentials

/// A day of the proleptic Gregorian calendar, without a calendar library: the same on every platform, and fast.
///
/// Counted in eras of 400 years that begin in March, so that the leap day is the last day of a year.
package struct CivilDate: Sendable, Equatable {
    package let year: Int
    /// 1 to 12.
    package let month: Int
    /// 1 to 31.
    package let day: Int

    /// Makes one from its parts; a day that the month has not is one of the next month.
    package init(year: Int, month: Int, day: Int) {
        self.year = year
        self.month = month
        self.day = day
    }

    /// The day this many days after 1970-01-01.
    package init(daysSince1970 days: Int) {
        let shifted = days + CivilDate.daysTo1970
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
        month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    }

    /// Days after 1970-01-01; negative before it.
    package var daysSince1970: Int {
        let shifted = month <= 2 ? year - 1 : year
        let era = (shifted >= 0 ? shifted : shifted - 399) / 400
        let yearOfEra = shifted - era * 400
        let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return era * 146_097 + dayOfEra - CivilDate.daysTo1970
    }

    /// A moment of the day in UTC.
    package func instant(hour: Int, minute: Int, second: Int) -> Date {
        Date(timeIntervalSince1970: Double(daysSince1970 * 86_400 + hour * 3600 + minute * 60 + second))
    }

    /// From 0000-03-01.
    private static let daysTo1970 = 719_468

    /// The day of an instant in UTC; instants outside the years 0 to 9999 give the nearest day.
    package init(containing instant: Date) {
        let seconds = instant.timeIntervalSince1970
        let clamped = seconds.isFinite ? min(max(seconds, -62_167_219_200), 253_402_300_799) : 0
        self.init(daysSince1970: Int((clamped / 86_400).rounded(.down)))
    }

    /// `YYYY-MM-DD` of an instant in UTC.
    package static func text(of instant: Date) -> String { CivilDate(containing: instant).text }

    /// `YYYY-MM-DD` of an instant in UTC, of the years 1 to 9999.
    package static func text(_ seconds: Int) -> String {
        let clamped = min(max(seconds, -62_135_596_800), 253_402_300_799)
        return CivilDate(daysSince1970: (clamped - (clamped % 86_400 + 86_400) % 86_400) / 86_400).text
    }

    var text: String {
        let digits = String(year)
        return String(repeating: "0", count: max(0, 4 - digits.count))
            + [digits, CivilDate.twoDigits(month), CivilDate.twoDigits(day)].joined(separator: "-")
    }

    static func twoDigits(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
}
