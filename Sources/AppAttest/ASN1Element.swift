// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Findings
import FoundationEssentials

/// ASN.1 that is not what was asked for: one sentence without a full stop.
struct ASN1Fault: Error {
    let reason: String

    init(_ reason: String) { self.reason = reason }
}

/// The identifier octets that certificates and receipts use, with the bit for constructed ones.
enum Tag {
    static let boolean: UInt8 = 0x01
    static let integer: UInt8 = 0x02
    static let bitString: UInt8 = 0x03
    static let octetString: UInt8 = 0x04
    static let objectIdentifier: UInt8 = 0x06
    static let utcTime: UInt8 = 0x17
    static let generalizedTime: UInt8 = 0x18
    /// An octet string in chunks (BER).
    static let chunkedOctetString: UInt8 = 0x24
    static let sequence: UInt8 = 0x30
    static let set: UInt8 = 0x31

    /// `[number]` around something, for numbers under 31.
    static func context(_ number: UInt8) -> UInt8 { 0xA0 | number }
}

/// One element of DER, or of BER with indefinite lengths. Its members are read when they are asked for, so that reading a receipt does
/// not cost more than checking its signatures (a reader that builds the whole tree did).
///
/// Lengths are in their shortest form in both; nothing is allocated; nesting is bounded.
struct ASN1Element {
    enum Rules { case der, ber }

    /// Enclosing elements of indefinite length. Receipts have four.
    private static let deepest = 12

    /// The first identifier octet, with class and constructed bit.
    let tag: UInt8
    /// The number of the tag.
    let number: UInt32
    /// What is inside, without the end-of-contents octets.
    let content: ArraySlice<UInt8>
    /// All of it.
    let encodedBytes: ArraySlice<UInt8>
    let rules: Rules

    /// Reads one element that fills the whole input.
    init(_ bytes: ArraySlice<UInt8>, _ rules: Rules) throws(ASN1Fault) {
        var rest = bytes
        try self.init(readingFrom: &rest, rules)
        guard rest.isEmpty else { throw ASN1Fault("bytes follow what should be the whole") }
    }

    /// Reads one element from the front.
    init(readingFrom rest: inout ArraySlice<UInt8>, _ rules: Rules, depth: Int = 0) throws(ASN1Fault) {
        let whole = rest
        guard let tag = rest.popFirst(), tag != 0 else { throw ASN1Fault("an element is missing") }
        var number = UInt32(tag & 0x1F)
        if number == 0x1F {
            number = 0
            var octets = 0
            while true {
                guard let octet = rest.popFirst(), octets < 4, octets > 0 || octet != 0x80 else {
                    throw ASN1Fault("a tag is not in its shortest form")
                }
                number = number << 7 | UInt32(octet & 0x7F)
                octets += 1
                if octet & 0x80 == 0 { break }
            }
            guard number >= 31 else { throw ASN1Fault("a tag is not in its shortest form") }
        }
        guard let first = rest.popFirst() else { throw ASN1Fault("an element ends in its head") }
        if first == 0x80 {
            guard rules == .ber, tag & 0x20 != 0, depth < ASN1Element.deepest else {
                throw ASN1Fault("an indefinite length is not allowed here")
            }
            let inside = rest.startIndex
            while !(rest.first == 0 && rest.dropFirst().first == 0) {
                _ = try ASN1Element(readingFrom: &rest, rules, depth: depth + 1)
            }
            content = whole[inside..<rest.startIndex]
            rest.removeFirst(2)
        } else {
            let length = try ASN1Element.length(first, &rest)
            guard length <= rest.count else { throw ASN1Fault("an element is longer than its place") }
            content = rest.prefix(length)
            rest.removeFirst(length)
        }
        self.tag = tag
        self.number = number
        self.rules = rules
        encodedBytes = whole[..<rest.startIndex]
    }

    private static func length(_ first: UInt8, _ rest: inout ArraySlice<UInt8>) throws(ASN1Fault) -> Int {
        if first < 0x80 { return Int(first) }
        var length = 0
        // Four octets hold more than any input.
        guard 1...4 ~= first & 0x7F, let leading = rest.first, leading != 0 else {
            throw ASN1Fault("a length is not in its shortest form")
        }
        for _ in 0..<(first & 0x7F) {
            guard let octet = rest.popFirst() else { throw ASN1Fault("an element ends in its head") }
            length = length << 8 | Int(octet)
        }
        guard length >= 0x80 else { throw ASN1Fault("a length is not in its shortest form") }
        return length
    }

    /// The content where the element has this tag.
    func content(of tag: UInt8) -> ArraySlice<UInt8>? { self.tag == tag ? content : nil }

    /// A moment of a certificate's validity (RFC 5280, section 4.1.2.5): UTCTime or GeneralizedTime in UTC, with seconds.
    func time() throws(ASN1Fault) -> Date {
        let isShort = tag == Tag.utcTime
        guard isShort || tag == Tag.generalizedTime, content.count == (isShort ? 13 : 15), content.last == 0x5A,
            content.dropLast().allSatisfy({ 0x30...0x39 ~= $0 })
        else { throw ASN1Fault("a time cannot be read") }
        var digits = content.dropLast()
        func number(_ count: Int) -> Int {
            let value = digits.prefix(count).reduce(0) { $0 * 10 + Int($1 - 0x30) }
            digits = digits.dropFirst(count)
            return value
        }
        var year = number(isShort ? 2 : 4)
        if isShort { year += year < 50 ? 2000 : 1900 }
        let (month, day, hour, minute, second) = (number(2), number(2), number(2), number(2), number(2))
        guard 1...12 ~= month, 1...31 ~= day, hour < 24, minute < 60, second < 60 else {
            throw ASN1Fault("a time cannot be read")
        }
        return Date(civilYear: year, month: month, day: day, second: hour * 3600 + minute * 60 + second)
    }
}

/// The members of a constructed element, read one after the other.
struct ASN1Members {
    private var rest: ArraySlice<UInt8>
    private let rules: ASN1Element.Rules
    private let name: StaticString

    /// - Parameter name: what the element is, for the sentence of a fault.
    init(_ element: ASN1Element, _ name: StaticString, tag: UInt8 = Tag.sequence) throws(ASN1Fault) {
        guard element.tag == tag else { throw ASN1Fault("\(name) has another type than it should") }
        rest = element.content
        rules = element.rules
        self.name = name
    }

    /// The next member, whatever it is.
    mutating func next() throws(ASN1Fault) -> ASN1Element? {
        rest.isEmpty ? nil : try ASN1Element(readingFrom: &rest, rules)
    }

    /// The next member, which must be there.
    mutating func require() throws(ASN1Fault) -> ASN1Element {
        guard let member = try next() else { throw ASN1Fault("\(name) ends too early") }
        return member
    }

    /// The next member where it has this tag.
    mutating func optional(_ tag: UInt8) throws(ASN1Fault) -> ASN1Element? {
        rest.first == tag ? try next() : nil
    }

    /// The content of the next member, which must have this tag.
    mutating func content(_ tag: UInt8) throws(ASN1Fault) -> ArraySlice<UInt8> {
        guard let content = try require().content(of: tag) else {
            throw ASN1Fault("\(name) has a member of another type than it should")
        }
        return content
    }

    /// Fails where a member is left.
    func end() throws(ASN1Fault) {
        guard rest.isEmpty else { throw ASN1Fault("\(name) has more members than it should") }
    }
}

extension Date {
    /// A moment in UTC of the Gregorian calendar. The parts are in range already.
    init(civilYear year: Int, month: Int, day: Int, second: Int) {
        let days = CivilDate(year: year, month: month, day: day).daysSince1970
        self.init(timeIntervalSince1970: Double(days * 86_400 + second))
    }
}
