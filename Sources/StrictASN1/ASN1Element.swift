// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

/// ASN.1 that is not what was asked for: one sentence without a full stop.
package struct ASN1Fault: Error {
    package let reason: String

    package init(_ reason: String) { self.reason = reason }
}

/// The first identifier octet of an element, with its class and the bit for constructed ones.
package struct ASN1Tag: Hashable, Sendable {
    package let octet: UInt8

    package init(_ octet: UInt8) { self.octet = octet }

    package static let boolean = ASN1Tag(0x01)
    package static let integer = ASN1Tag(0x02)
    package static let bitString = ASN1Tag(0x03)
    package static let octetString = ASN1Tag(0x04)
    package static let objectIdentifier = ASN1Tag(0x06)
    package static let enumerated = ASN1Tag(0x0A)
    package static let utf8String = ASN1Tag(0x0C)
    package static let numericString = ASN1Tag(0x12)
    package static let printableString = ASN1Tag(0x13)
    package static let teletexString = ASN1Tag(0x14)
    package static let ia5String = ASN1Tag(0x16)
    package static let utcTime = ASN1Tag(0x17)
    package static let generalizedTime = ASN1Tag(0x18)
    package static let visibleString = ASN1Tag(0x1A)
    package static let universalString = ASN1Tag(0x1C)
    package static let bmpString = ASN1Tag(0x1E)
    /// An octet string in chunks (BER).
    package static let chunkedOctetString = ASN1Tag(0x24)
    package static let sequence = ASN1Tag(0x30)
    package static let set = ASN1Tag(0x31)

    /// `[number]` around something, for numbers under 31.
    package static func context(_ number: UInt8) -> ASN1Tag { ASN1Tag(0xA0 | number) }

    package var isConstructed: Bool { octet & 0x20 != 0 }

    /// Whether the class is the one of `[number]`.
    package var isContextSpecific: Bool { octet & 0xC0 == 0x80 }
}

/// One element of DER, or of BER with indefinite lengths. Its members are read when they are asked for, so that reading a receipt or the
/// key of a certificate does not cost more than checking a signature (a reader that builds the whole tree did).
///
/// Lengths are in their shortest form in both; nothing is allocated; nesting is bounded.
package struct ASN1Element: Sendable {
    package enum Rules: Sendable { case der, ber }

    /// Enclosing elements of indefinite length. Receipts have four.
    private static let deepest = 12

    /// The first identifier octet, with class and constructed bit.
    package let tag: ASN1Tag
    /// The number of the tag.
    package let number: UInt32
    /// What is inside, without the end-of-contents octets.
    package let content: ArraySlice<UInt8>
    /// All of it.
    package let encodedBytes: ArraySlice<UInt8>
    package let rules: Rules

    /// Reads one element that fills the whole input.
    package init(_ bytes: ArraySlice<UInt8>, _ rules: Rules) throws(ASN1Fault) {
        var rest = bytes
        try self.init(readingFrom: &rest, rules)
        guard rest.isEmpty else { throw ASN1Fault("bytes follow what should be the whole") }
    }

    /// Reads one element from the front.
    package init(readingFrom rest: inout ArraySlice<UInt8>, _ rules: Rules) throws(ASN1Fault) {
        try self.init(readingFrom: &rest, rules, depth: 0)
    }

    private init(readingFrom rest: inout ArraySlice<UInt8>, _ rules: Rules, depth: Int) throws(ASN1Fault) {
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
        self.tag = ASN1Tag(tag)
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

    /// Reads one element of DER that fills the whole input, and looks at everything in it once, so that its members are all there.
    package init(complete bytes: ArraySlice<UInt8>) throws(ASN1Fault) {
        try self.init(bytes, .der)
        try checkMembers(depth: 0)
    }

    private func checkMembers(depth: Int) throws(ASN1Fault) {
        guard tag.isConstructed else { return }
        // Certificates have about ten levels.
        guard depth < 50 else { throw ASN1Fault("elements are nested too deeply") }
        var rest = content
        while !rest.isEmpty { try ASN1Element(readingFrom: &rest, rules).checkMembers(depth: depth + 1) }
    }

    /// The content where the element has this tag.
    package func content(of tag: ASN1Tag) -> ArraySlice<UInt8>? { self.tag == tag ? content : nil }

    /// The magnitude of an INTEGER that is not negative and in its shortest form; empty for zero.
    package func unsignedInteger() throws(ASN1Fault) -> ArraySlice<UInt8> {
        guard tag == .integer, let first = content.first, first < 0x80 else {
            throw ASN1Fault("a number has another type, or is negative")
        }
        guard first == 0 else { return content }
        let magnitude = content.dropFirst()
        if let second = magnitude.first, second < 0x80 { throw ASN1Fault("a number is not in its shortest form") }
        return magnitude
    }

    /// The number of `[number]`, in either form; nil for a tag of another class.
    package var contextNumber: UInt32? { tag.isContextSpecific ? number : nil }
}

/// The members of a constructed element, read one after the other.
package struct ASN1Members: Sendable {
    private var rest: ArraySlice<UInt8>
    private let rules: ASN1Element.Rules
    private let name: StaticString

    /// - Parameter name: what the element is, for the sentence of a fault.
    package init(_ element: ASN1Element, _ name: StaticString, tag: ASN1Tag = .sequence) throws(ASN1Fault) {
        guard element.tag == tag else { throw ASN1Fault("\(name) has another type than it should") }
        rest = element.content
        rules = element.rules
        self.name = name
    }

    /// The next member, whatever it is.
    package mutating func next() throws(ASN1Fault) -> ASN1Element? {
        rest.isEmpty ? nil : try ASN1Element(readingFrom: &rest, rules)
    }

    /// The next member, which must be there.
    package mutating func require() throws(ASN1Fault) -> ASN1Element {
        guard let member = try next() else { throw ASN1Fault("\(name) ends too early") }
        return member
    }

    /// The next member where it has this tag.
    package mutating func optional(_ tag: ASN1Tag) throws(ASN1Fault) -> ASN1Element? {
        rest.first == tag.octet ? try next() : nil
    }

    /// The content of the next member, which must have this tag.
    package mutating func content(_ tag: ASN1Tag) throws(ASN1Fault) -> ArraySlice<UInt8> {
        guard let content = try require().content(of: tag) else {
            throw ASN1Fault("\(name) has a member of another type than it should")
        }
        return content
    }

    /// Fails where a member is left.
    package func end() throws(ASN1Fault) {
        guard rest.isEmpty else { throw ASN1Fault("\(name) has more members than it should") }
    }
}
