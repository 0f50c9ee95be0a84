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
    package let number: UInt32
    /// What is inside, without the end-of-contents octets.
    package let content: ArraySlice<UInt8>
    package let encodedBytes: ArraySlice<UInt8>
    package let rules: Rules

    /// Reads one element that fills the whole input.
    package init(_ bytes: ArraySlice<UInt8>, _ rules: Rules) throws(ASN1Fault) {
        let head = try Head(of: bytes, at: bytes.startIndex, before: bytes.endIndex, rules)
        guard head.end == bytes.endIndex else {
            throw ASN1Fault("bytes follow the element that should be the whole input")
        }
        self.init(bytes, head, rules)
    }

    /// Reads one element from the front.
    package init(readingFrom rest: inout ArraySlice<UInt8>, _ rules: Rules) throws(ASN1Fault) {
        let head = try Head(of: rest, at: rest.startIndex, before: rest.endIndex, rules)
        self.init(rest, head, rules)
        rest = rest[head.end...]
    }

    /// Reads one element of DER that fills the whole input, and looks at everything in it once, so that its members are all there.
    package init(complete bytes: ArraySlice<UInt8>) throws(ASN1Fault) {
        try self.init(bytes, .der)
        if tag.isConstructed {
            try ASN1Element.checkMembers(of: content, at: content.startIndex, before: content.endIndex)
        }
    }

    /// - Parameter bytes: begin with the element.
    private init(_ bytes: ArraySlice<UInt8>, _ head: Head, _ rules: Rules) {
        tag = ASN1Tag(head.tag)
        number = head.number
        content = bytes[head.content]
        encodedBytes = bytes[..<head.end]
        self.rules = rules
    }

    private static func checkMembers(
        of bytes: ArraySlice<UInt8>, at start: Int, before end: Int, depth: Int = 0
    ) throws(ASN1Fault) {
        // Certificates have about ten levels.
        guard depth < 50 else { throw ASN1Fault("elements are nested too deeply") }
        var index = start
        while index < end {
            let head = try Head(of: bytes, at: index, before: end, .der)
            if head.tag & 0x20 != 0 {
                try checkMembers(
                    of: bytes, at: head.content.lowerBound, before: head.content.upperBound, depth: depth + 1)
            }
            index = head.end
        }
    }

    /// Where the parts of one element are: numbers alone, because looking at each element of a certificate shall not cost a slice.
    private struct Head {
        let tag: UInt8
        let number: UInt32
        let content: Range<Int>
        /// Where the next element begins.
        let end: Int

        /// Reads the octets before the content, and if the length is indefinite the content too.
        init(
            of bytes: ArraySlice<UInt8>, at start: Int, before limit: Int, _ rules: Rules, depth: Int = 0
        ) throws(ASN1Fault) {
            var index = start
            guard index < limit, bytes[index] != 0 else { throw ASN1Fault("an element is missing") }
            tag = bytes[index]
            index += 1
            var number = UInt32(tag & 0x1F)
            if number == 0x1F {
                number = 0
                var octets = 0
                while true {
                    guard index < limit, octets < 4, octets > 0 || bytes[index] != 0x80 else {
                        throw ASN1Fault("a tag is not in its shortest form")
                    }
                    let octet = bytes[index]
                    index += 1
                    number = number << 7 | UInt32(octet & 0x7F)
                    octets += 1
                    if octet & 0x80 == 0 { break }
                }
                guard number >= 31 else { throw ASN1Fault("a tag is not in its shortest form") }
            }
            self.number = number
            guard index < limit else { throw ASN1Fault("an element ends within its header") }
            let first = bytes[index]
            index += 1
            if first == 0x80 {
                guard rules == .ber, tag & 0x20 != 0, depth < ASN1Element.deepest else {
                    throw ASN1Fault("an indefinite length is not allowed here")
                }
                let inside = index
                while !(limit - index >= 2 && bytes[index] == 0 && bytes[index + 1] == 0) {
                    index = try Head(of: bytes, at: index, before: limit, rules, depth: depth + 1).end
                }
                content = inside..<index
                end = index + 2
                return
            }
            var length = Int(first)
            if first > 0x80 {
                length = 0
                // Four octets hold more than any input.
                guard 1...4 ~= first & 0x7F, index < limit, bytes[index] != 0 else {
                    throw ASN1Fault("a length is not in its shortest form")
                }
                for _ in 0..<(first & 0x7F) {
                    guard index < limit else { throw ASN1Fault("an element ends within its header") }
                    length = length << 8 | Int(bytes[index])
                    index += 1
                }
                guard length >= 0x80 else { throw ASN1Fault("a length is not in its shortest form") }
            }
            guard length <= limit - index else { throw ASN1Fault("an element is longer than what contains it") }
            content = index..<(index + length)
            end = index + length
        }
    }

    /// The content if the element has this tag.
    package func content(of tag: ASN1Tag) -> ArraySlice<UInt8>? { self.tag == tag ? content : nil }

    /// The magnitude of an INTEGER that is not negative and in its shortest form; empty for zero.
    package func unsignedInteger() throws(ASN1Fault) -> ArraySlice<UInt8> {
        guard tag == .integer, let first = content.first, first < 0x80 else {
            throw ASN1Fault("a number has the wrong type, or is negative")
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
        guard element.tag == tag else { throw ASN1Fault("\(name) has the wrong type") }
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

    /// The next member if it has this tag.
    package mutating func optional(_ tag: ASN1Tag) throws(ASN1Fault) -> ASN1Element? {
        rest.first == tag.octet ? try next() : nil
    }

    /// The content of the next member, which must have this tag.
    package mutating func content(_ tag: ASN1Tag) throws(ASN1Fault) -> ArraySlice<UInt8> {
        guard let content = try require().content(of: tag) else {
            throw ASN1Fault("\(name) has a member of the wrong type")
        }
        return content
    }

    /// Fails if a member is left.
    package func end() throws(ASN1Fault) {
        guard rest.isEmpty else { throw ASN1Fault("\(name) has more members than it should") }
    }
}
