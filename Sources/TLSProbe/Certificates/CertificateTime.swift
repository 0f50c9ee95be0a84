// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Findings
import Foundation
import SwiftASN1

/// Reads UTCTime and GeneralizedTime, also in the older forms without seconds or with an offset (X.680 46 and 47).
enum CertificateTime {
    static func date(_ node: ASN1Node, _ what: String) throws(MalformedInput) -> Date {
        let bytes = try node.primitive(what)
        var fault: MalformedInput {
            .certificate("\(what) is not a time: \(String(decoding: bytes.prefix(32), as: UTF8.self))")
        }
        var digits: [Int] = []
        for byte in bytes {
            guard (0x30...0x39).contains(byte) else { break }
            digits.append(Int(byte) - 0x30)
        }
        let suffix = Array(bytes.dropFirst(digits.count))
        let yearDigits: Int
        switch node.identifier {
        case .utcTime: yearDigits = 2
        case .generalizedTime: yearDigits = 4
        default: throw fault
        }
        guard digits.count == yearDigits + 8 || digits.count == yearDigits + 10 else { throw fault }
        var year = digits.prefix(yearDigits).reduce(0) { $0 * 10 + $1 }
        // RFC 5280 section 4.1.2.5.1: two digits from 50 on are of the twentieth century.
        if yearDigits == 2 { year += year >= 50 ? 1900 : 2000 }
        func pair(_ index: Int) -> Int {
            let at = yearDigits + index * 2
            return at + 1 < digits.count ? digits[at] * 10 + digits[at + 1] : 0
        }
        let (month, day, hour, minute, second) = (pair(0), pair(1), pair(2), pair(3), pair(4))
        guard (1...12).contains(month), (1...31).contains(day), hour < 24, minute < 60, second < 61 else { throw fault }
        var seconds =
            CivilDate(year: year, month: month, day: day).daysSince1970 * 86_400 + hour * 3600 + minute * 60 + second
        seconds -= try offset(suffix, fault)
        return Date(timeIntervalSince1970: Double(seconds))
    }

    /// Seconds east of Greenwich. A fraction of a second is ignored.
    private static func offset(_ suffix: [UInt8], _ fault: @autoclosure () -> MalformedInput) throws(MalformedInput)
        -> Int
    {
        var rest = suffix[...]
        if rest.first == 0x2E || rest.first == 0x2C {
            rest = rest.dropFirst().drop { (0x30...0x39).contains($0) }
        }
        if rest.elementsEqual("Z".utf8) { return 0 }
        let text = Array(rest)
        guard text.count == 5, text[0] == 0x2B || text[0] == 0x2D,
            text.dropFirst().allSatisfy({ (0x30...0x39).contains($0) })
        else { throw fault() }
        let figures = text.dropFirst().map { Int($0) - 0x30 }
        let value = (figures[0] * 10 + figures[1]) * 3600 + (figures[2] * 10 + figures[3]) * 60
        return text[0] == 0x2B ? value : -value
    }
}
