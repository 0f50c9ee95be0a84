// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Foundation

/// An instant given on the command line in RFC 3339, for example `2026-11-21T12:00:00Z`.
///
/// A day, an hour or an offset that does not exist is refused, where Foundation counts on into the next one.
struct Instant: ExpressibleByArgument {
    let date: Date

    init?(argument: String) {
        let bytes = Array(argument.utf8)
        let form = Array("0000-00-00T00:00:00".utf8)
        guard bytes.count > form.count, bytes.count <= 40 else { return nil }
        for (byte, expected) in zip(bytes, form) {
            let fits =
                switch expected {
                case UInt8(ascii: "0"): Instant.isDigit(byte)
                case UInt8(ascii: "T"): byte == expected || byte == UInt8(ascii: "t")
                default: byte == expected
                }
            guard fits else { return nil }
        }
        func number(_ start: Int, _ count: Int) -> Int {
            bytes[start..<(start + count)].reduce(0) { $0 * 10 + Int($1) - 0x30 }
        }
        var rest = bytes[form.count...]
        var fraction = 0.0
        if rest.first == UInt8(ascii: ".") {
            let digits = rest.dropFirst().prefix(while: Instant.isDigit)
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
        guard let offset = Instant.offset(Array(rest)) else { return nil }
        let (year, month, day) = (number(0, 4), number(5, 2), number(8, 2))
        let (hour, minute, second) = (number(11, 2), number(14, 2), number(17, 2))
        guard 1...12 ~= month, day >= 1, day <= Instant.days(month, year), hour < 24, minute < 60, second < 60 else {
            return nil
        }
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = .gmt
        let parts = DateComponents(year: year, month: month, day: day, hour: hour, minute: minute, second: second)
        guard let whole = calendar.date(from: parts) else { return nil }
        date = whole.addingTimeInterval(fraction - Double(offset))
    }

    private static func isDigit(_ byte: UInt8) -> Bool { 0x30...0x39 ~= byte }

    private static func days(_ month: Int, _ year: Int) -> Int {
        switch month {
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    /// The seconds that the local time is ahead of UTC: `Z`, `z`, or `+hh:mm` and `-hh:mm`.
    private static func offset(_ bytes: [UInt8]) -> Int? {
        if bytes == [UInt8(ascii: "Z")] || bytes == [UInt8(ascii: "z")] { return 0 }
        guard bytes.count == 6, bytes[3] == UInt8(ascii: ":"), [1, 2, 4, 5].allSatisfy({ isDigit(bytes[$0]) }) else {
            return nil
        }
        let hours = Int(bytes[1] - 0x30) * 10 + Int(bytes[2] - 0x30)
        let minutes = Int(bytes[4] - 0x30) * 10 + Int(bytes[5] - 0x30)
        guard hours < 24, minutes < 60 else { return nil }
        switch bytes[0] {
        case UInt8(ascii: "+"): return hours * 3600 + minutes * 60
        case UInt8(ascii: "-"): return -(hours * 3600 + minutes * 60)
        default: return nil
        }
    }
}

/// The options that every command has.
struct SharedOptions: ParsableArguments {
    @Option(name: .long, help: ArgumentHelp("Write the result to a file.", valueName: "FILE"))
    var output: String?

    @Flag(name: .long, help: "Disable color.")
    var noColor = false

    @Flag(name: .long, help: "Print nothing but the result.")
    var quiet = false
}
