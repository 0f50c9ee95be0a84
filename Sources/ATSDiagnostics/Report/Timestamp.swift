// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Findings
import Foundation

/// RFC 3339 text of an instant, UTC, whole seconds.
enum Timestamp {
    static func text(_ date: Date) -> String {
        let seconds = date.timeIntervalSince1970
        // Years 0 to 9999: others have no four digits.
        guard (-62_167_219_200..<253_402_300_800).contains(seconds) else { return date.formatted(.iso8601) }
        let whole = Int(seconds.rounded(.down))
        let (days, rest) = (whole.flooredDivision(by: 86_400), whole.flooredRemainder(by: 86_400))
        let date = CivilDate(daysSince1970: days)
        var text: [UInt8] = []
        text.reserveCapacity(20)
        func digits(_ number: Int, _ count: Int) {
            let figures = String(number).utf8
            for _ in 0..<max(0, count - figures.count) { text.append(0x30) }
            text += figures
        }
        digits(date.year, 4)
        text.append(UInt8(ascii: "-"))
        digits(date.month, 2)
        text.append(UInt8(ascii: "-"))
        digits(date.day, 2)
        text.append(UInt8(ascii: "T"))
        digits(rest / 3600, 2)
        text.append(UInt8(ascii: ":"))
        digits(rest / 60 % 60, 2)
        text.append(UInt8(ascii: ":"))
        digits(rest % 60, 2)
        text.append(UInt8(ascii: "Z"))
        return String(decoding: text, as: UTF8.self)
    }

    static func day(_ date: Date) -> String { String(text(date).prefix(10)) }
}

extension Int {
    fileprivate func flooredDivision(by divisor: Int) -> Int { (self - flooredRemainder(by: divisor)) / divisor }

    fileprivate func flooredRemainder(by divisor: Int) -> Int {
        let rest = self % divisor
        return rest < 0 ? rest + divisor : rest
    }
}

extension Duration {
    package var milliseconds: Int {
        let (seconds, attoseconds) = components
        return Int(clamping: seconds) &* 1000 &+ Int(clamping: attoseconds / 1_000_000_000_000_000)
    }
}
