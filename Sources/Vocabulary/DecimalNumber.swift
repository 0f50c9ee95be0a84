// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

extension StringProtocol {
    /// The number that the text writes in decimal digits alone, without sign or space; nil for anything else, and if it is too large.
    ///
    /// - Parameter digits: the most digits, leading zeros included; at most 19.
    @inlinable package func decimalNumber(digits: Int) -> Int? {
        guard utf8.count <= Swift.min(digits, 19), utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        return Int(self)
    }

    /// The seconds of a Retry-After field, at most a day; nil for its form with a date, and for anything else (RFC 9110 section 10.2.3).
    package var retryAfterSeconds: Int? { decimalNumber(digits: 18).map { Swift.min($0, 86_400) } }
}

extension Int {
    /// The digits in groups of three: `1,234,567`.
    package func grouped(by separator: String) -> String {
        var (rest, groups) = (magnitude, [String]())
        while rest >= 1000 {
            groups.insert(String(String(1000 + rest % 1000).dropFirst()), at: 0)
            rest /= 1000
        }
        return (self < 0 ? "-" : "") + ([String(rest)] + groups).joined(separator: separator)
    }
}
