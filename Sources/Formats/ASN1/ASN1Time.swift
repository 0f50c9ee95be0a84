// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import FoundationEssentials
import Vocabulary

extension ASN1Element {
    /// Which times are read.
    package enum TimeForm {
        /// What a certificate may have: UTC, with seconds and without a fraction (RFC 5280 section 4.1.2.5).
        case certificate
        /// Also without seconds, with a fraction, which is ignored, and with an offset (X.680 sections 46 and 47).
        case any
    }

    /// A UTCTime or GeneralizedTime.
    package func time(_ form: TimeForm = .certificate) throws(ASN1Fault) -> Date {
        let fault = ASN1Fault("a time cannot be read")
        guard tag == .utcTime || tag == .generalizedTime else { throw fault }
        let yearDigits = tag == .utcTime ? 2 : 4
        let digits = content.prefix { 0x30...0x39 ~= $0 }
        let hasSeconds = digits.count == yearDigits + 10
        guard hasSeconds || digits.count == yearDigits + 8 else { throw fault }
        var rest = digits
        func number(_ count: Int) -> Int {
            let value = rest.prefix(count).reduce(0) { $0 * 10 + Int($1 - 0x30) }
            rest = rest.dropFirst(count)
            return value
        }
        var year = number(yearDigits)
        // RFC 5280 section 4.1.2.5.1: two digits from 50 on are of the twentieth century.
        if yearDigits == 2 { year += year < 50 ? 2000 : 1900 }
        let (month, day, hour, minute, second) = (number(2), number(2), number(2), number(2), number(2))
        guard 1...12 ~= month, 1...31 ~= day, hour < 24, minute < 60, second < (form == .any ? 61 : 60) else {
            throw fault
        }
        let suffix = content[digits.endIndex...]
        let offset: Int
        switch form {
        case .certificate:
            guard hasSeconds, suffix.elementsEqual([0x5A]) else { throw fault }
            offset = 0
        case .any:
            guard let east = ASN1Element.secondsEast(suffix) else { throw fault }
            offset = east
        }
        let time = CivilDate(year: year, month: month, day: day).instant(hour: hour, minute: minute, second: second)
        return time.addingTimeInterval(Double(-offset))
    }

    /// Seconds east of Greenwich, of what follows the digits.
    private static func secondsEast(_ suffix: ArraySlice<UInt8>) -> Int? {
        var rest = suffix
        if rest.first == 0x2E || rest.first == 0x2C { rest = rest.dropFirst().drop { 0x30...0x39 ~= $0 } }
        if rest.elementsEqual([0x5A]) { return 0 }
        guard let sign = rest.popFirst(), sign == 0x2B || sign == 0x2D, rest.count == 4,
            rest.allSatisfy({ 0x30...0x39 ~= $0 })
        else { return nil }
        let figures = rest.reduce(0) { $0 * 10 + Int($1 - 0x30) }
        let seconds = figures / 100 * 3600 + figures % 100 * 60
        return sign == 0x2B ? seconds : -seconds
    }
}
