// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Vocabulary

/// The text forms of numbers, dates and data.
enum PlistScalar {
    /// The value of the text of an element, or nil if it has none.
    static func value(of text: String, in element: ElementName) -> PlistNode.Value? {
        switch element {
        case .integer: integer(text)
        case .real: real(text)
        case .date: date(text).map(PlistNode.Value.date)
        case .data: .data(Base64.decode(skippingOthers: Array(text.utf8)))
        default: nil
        }
    }

    /// Decimal or `0x` hexadecimal; a number above `Int.max` that still fits 64 bits becomes a real.
    private static func integer(_ text: String) -> PlistNode.Value? {
        var digits = Substring(text.trimmed())
        let isNegative = digits.hasPrefix("-")
        if isNegative || digits.hasPrefix("+") { digits.removeFirst() }
        let magnitude: UInt64?
        if digits.hasPrefix("0x") || digits.hasPrefix("0X") {
            magnitude = UInt64(digits.dropFirst(2), radix: 16)
        } else {
            guard digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
            // Safe: nil if it does not fit.
            magnitude = UInt64(digits)
        }
        guard let magnitude else { return nil }
        if let small = Int(exactly: magnitude) { return .integer(isNegative ? -small : small) }
        // Safe: `Int.max` is a constant.
        if isNegative { return magnitude == UInt64(Int.max) + 1 ? .integer(Int.min) : nil }
        return .real(Double(magnitude))
    }

    private static func real(_ text: String) -> PlistNode.Value? {
        let digits = text.trimmed().lowercased()
        switch digits {
        case "nan": return .real(.nan)
        case "+infinity", "infinity", "inf", "+inf": return .real(.infinity)
        case "-infinity", "-inf": return .real(-.infinity)
        default: return Double(digits).map(PlistNode.Value.real)
        }
    }

    /// `YYYY-MM-DDTHH:MM:SSZ`, the only form that property lists have.
    private static func date(_ text: String) -> Date? {
        let bytes = Array(text.trimmed().utf8)
        guard bytes.count == 20, bytes[4] == 0x2D, bytes[7] == 0x2D, bytes[10] == 0x54, bytes[13] == 0x3A,
            bytes[16] == 0x3A, bytes[19] == 0x5A
        else { return nil }
        // Safe: nil if it is no number.
        func number(_ range: Range<Int>) -> Int? { Int(String(decoding: bytes[range], as: UTF8.self)) }
        guard let year = number(0..<4), let month = number(5..<7), let day = number(8..<10), let hour = number(11..<13),
            let minute = number(14..<16), let second = number(17..<19), (1...12).contains(month), (1...31).contains(day)
        else { return nil }
        return CivilDate(year: year, month: month, day: day).instant(hour: hour, minute: minute, second: second)
    }
}
