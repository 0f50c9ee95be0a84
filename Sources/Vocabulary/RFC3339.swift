// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import FoundationEssentials

/// Instants as RFC 3339 writes them.
package enum RFC3339 {
    /// `2026-11-21T12:00:00Z`: whole seconds in UTC, rounded down. Instants outside the years 0 to 9999 give the nearest one inside.
    package static func text(_ instant: Date) -> String {
        let day = CivilDate(containing: instant)
        let ofDay = instant.timeIntervalSince1970 - Double(day.daysSince1970) * 86_400
        let second = ofDay.isFinite ? Int(min(max(ofDay, 0), 86_399)) : 0
        let time = [second / 3600, second / 60 % 60, second % 60].map(CivilDate.twoDigits).joined(separator: ":")
        return "\(day.text)T\(time)Z"
    }

    /// Reads `date-time` of RFC 3339 section 5.6: `T` and `Z` in either case, a fraction of any length of which nine digits count, an offset.
    /// Nil for anything else, and for a day that the month has not.
    @inlinable package static func date(_ bytes: some Collection<UInt8>) -> Date? { date(Array(bytes.prefix(41))) }

    /// The same, without a copy.
    package static func date(_ bytes: [UInt8]) -> Date? {
        let form = Array("0000-00-00T00:00:00".utf8)
        guard bytes.count > form.count, bytes.count <= 40, let day = civilDate(bytes[..<10]),
            zip(bytes, form).dropFirst(10).allSatisfy({ fits($0, $1) })
        else { return nil }
        let (hour, minute, second) = (number(bytes[11..<13]), number(bytes[14..<16]), number(bytes[17..<19]))
        guard hour < 24, minute < 60, second < 60 else { return nil }
        var rest = bytes[form.count...]
        var fraction = 0.0
        if rest.first == UInt8(ascii: ".") {
            let digits = rest.dropFirst().prefix(while: isDigit)
            guard !digits.isEmpty else { return nil }
            // Whole numbers first, so that a millisecond is exactly the nearest representable one.
            var scale = 1.0
            for digit in digits.prefix(9) {
                fraction = fraction * 10 + Double(digit - 0x30)
                scale *= 10
            }
            fraction /= scale
            rest = rest.dropFirst(1 + digits.count)
        }
        guard let offset = secondsEast(rest) else { return nil }
        return day.instant(hour: hour, minute: minute, second: second).addingTimeInterval(fraction - Double(offset))
    }

    /// Reads an instant, or a date alone.
    package static func instantOrDay(_ text: String) -> Date? { date(text.utf8) ?? day(text.utf8) }

    /// Reads `full-date`, as its midnight in UTC.
    @inlinable package static func day(_ bytes: some Collection<UInt8>) -> Date? { day(Array(bytes.prefix(11))) }

    @usableFromInline static func day(_ bytes: [UInt8]) -> Date? {
        civilDate(bytes[...])?.instant(hour: 0, minute: 0, second: 0)
    }

    private static func civilDate(_ bytes: ArraySlice<UInt8>) -> CivilDate? {
        guard bytes.count == 10, zip(bytes, "0000-00-00".utf8).allSatisfy({ fits($0, $1) }) else { return nil }
        let from = bytes.startIndex
        let (year, month) = (number(bytes[from..<(from + 4)]), number(bytes[(from + 5)..<(from + 7)]))
        let date = CivilDate(year: year, month: month, day: number(bytes[(from + 8)...]))
        // A day that the month has not is one of the next month.
        return 1...12 ~= month && CivilDate(daysSince1970: date.daysSince1970) == date ? date : nil
    }

    private static func isDigit(_ byte: UInt8) -> Bool { 0x30...0x39 ~= byte }

    private static func number(_ digits: ArraySlice<UInt8>) -> Int { digits.reduce(0) { $0 * 10 + Int($1) - 0x30 } }

    private static func fits(_ byte: UInt8, _ form: UInt8) -> Bool {
        switch form {
        case UInt8(ascii: "0"): isDigit(byte)
        case UInt8(ascii: "T"): byte.asciiLowercased == UInt8(ascii: "t")
        default: byte == form
        }
    }

    /// The seconds that the local time is ahead of UTC: `Z`, or `+hh:mm` and `-hh:mm`.
    private static func secondsEast(_ bytes: ArraySlice<UInt8>) -> Int? {
        if bytes.equalsIgnoringASCIICase("z") { return 0 }
        guard let sign = bytes.first, sign == UInt8(ascii: "+") || sign == UInt8(ascii: "-"), bytes.count == 6,
            zip(bytes.dropFirst(), "00:00".utf8).allSatisfy({ fits($0, $1) })
        else { return nil }
        let (hours, minutes) = (number(bytes.dropFirst().prefix(2)), number(bytes.suffix(2)))
        guard hours < 24, minutes < 60 else { return nil }
        return (sign == UInt8(ascii: "+") ? 1 : -1) * (hours * 3600 + minutes * 60)
    }
}
