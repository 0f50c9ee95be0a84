// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials
import Vocabulary

/// A calendar month in UTC, written `YYYY-MM`: the only precision in which Apple says when a device's bits were last written.
public struct YearMonth: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The months since year 0, January.
    private let ordinal: Int

    /// The year, 0 to 9999.
    public var year: Int { ordinal / 12 }

    /// The month, 1 to 12.
    public var month: Int { ordinal % 12 + 1 }

    /// A month by its numbers, or nil if they name none.
    public init?(year: Int, month: Int) {
        guard (0...9999).contains(year), (1...12).contains(month) else { return nil }
        ordinal = year * 12 + month - 1
    }

    /// Reads exactly `YYYY-MM`; anything else is nil.
    public init?(_ text: String) {
        guard let first = RFC3339.day(text.utf8.prefix(8) + Array("-01".utf8)) else { return nil }
        self.init(containing: first)
    }

    /// The month in UTC that holds `instant`. Instants outside the years 0 to 9999 give the nearest month.
    public init(containing instant: Date) {
        let day = CivilDate(containing: instant)
        ordinal = day.year * 12 + day.month - 1
    }

    /// How many months lie between `earlier` and this month; negative if `earlier` is later.
    public func months(since earlier: YearMonth) -> Int { ordinal - earlier.ordinal }

    public static func < (left: YearMonth, right: YearMonth) -> Bool { left.ordinal < right.ordinal }

    public var description: String {
        let years = String(year)
        return String(repeating: "0", count: 4 - years.count) + years + (month < 10 ? "-0" : "-") + String(month)
    }
}
