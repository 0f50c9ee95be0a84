// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import FoundationEssentials

/// Instants as stores keep them: whole milliseconds since 1970 in UTC, so that every backend compares alike.
package enum StoreTime {
    /// Rounds down to the millisecond. Instants outside what 48 bits hold (the year 10889) are moved to the nearest end.
    package static func milliseconds(_ date: Date) -> Int64 {
        let value = (date.timeIntervalSince1970 * 1000).rounded(.down)
        guard value.isFinite else { return value == -.infinity ? 0 : latest }
        if value <= 0 { return 0 }
        return value >= Double(latest) ? latest : Int64(value)
    }

    package static func date(_ milliseconds: Int64) -> Date {
        Date(timeIntervalSince1970: Double(milliseconds) / 1000)
    }

    /// The number of whole milliseconds of a duration, at least zero.
    package static func milliseconds(_ duration: Duration) -> Int64 {
        let (seconds, attoseconds) = duration.components
        if seconds < 0 { return 0 }
        if seconds >= latest / 1000 { return latest }
        return seconds * 1000 + attoseconds / 1_000_000_000_000_000
    }

    /// The start of the hour, for counters that are kept by the hour.
    package static func hour(_ date: Date) -> Int64 {
        let value = milliseconds(date)
        return value - value % 3_600_000
    }

    package static let latest: Int64 = (1 << 48) - 1
}
