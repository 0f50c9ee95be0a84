// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

// Names of hosts, header fields, schemes and keywords ignore the case of ASCII letters and of no others: text from outside is read by
// bytes, and `lowercased()` of Unicode would make different names equal.

extension UInt8 {
    /// The byte, or its lower-case letter if it is one of A to Z.
    @inlinable package var asciiLowercased: UInt8 { (0x41...0x5A).contains(self) ? self | 0x20 : self }

    /// Whether the byte is one of 0 to 9, A to Z and a to z.
    @inlinable package var isASCIIAlphanumeric: Bool {
        switch self {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
        default: false
        }
    }
}

extension UInt8 {
    /// Whether RFC 3986 section 2.3 lets the byte stand anywhere in a URL: letters, digits, `-`, `.`, `_` and `~`.
    package var isUnreserved: Bool { isASCIIAlphanumeric || "-._~".utf8.contains(self) }

    /// The value of a hexadecimal digit in either case; nil for anything else.
    package var hexadecimalValue: UInt8? {
        switch self {
        case 0x30...0x39: self - 0x30
        case 0x41...0x46: self - 0x37
        case 0x61...0x66: self - 0x57
        default: nil
        }
    }

    /// Whether the byte is one of 0 to 9 and a to f.
    package var isLowercaseHexadecimal: Bool { (0x30...0x39).contains(self) || (0x61...0x66).contains(self) }
}

extension Sequence<UInt8> {
    /// The bytes with A to Z as a to z.
    @inlinable package var asciiLowercased: [UInt8] { map(\.asciiLowercased) }

    /// Whether these are the bytes of an ASCII word, given in lower case, whatever the case of their letters.
    @inlinable package func equalsIgnoringASCIICase(_ word: String) -> Bool {
        elementsEqual(word.utf8) { $0.asciiLowercased == $1 }
    }

    /// Two digits a byte, without separators, in lower case unless asked otherwise.
    @inlinable package func hexadecimal(uppercase: Bool = false) -> String {
        let digits = Array((uppercase ? "0123456789ABCDEF" : "0123456789abcdef").utf8)
        var text: [UInt8] = []
        text.reserveCapacity(underestimatedCount * 2)
        for byte in self {
            text.append(digits[Int(byte >> 4)])
            text.append(digits[Int(byte & 15)])
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// The bytes as part of a URL: those that may not stand there as `%` and two digits (RFC 3986 section 2.1).
    package func percentEncoded(unless mayStand: (UInt8) -> Bool = \.isUnreserved) -> String {
        map { mayStand($0) ? String(UnicodeScalar($0)) : "%" + [$0].hexadecimal(uppercase: true) }.joined()
    }
}

extension BidirectionalCollection {
    /// What is left without the elements at both ends that fulfil a condition.
    @inlinable package func trimmed(while isTrimmed: (Element) -> Bool) -> SubSequence {
        let head = drop(while: isTrimmed)
        return head[..<(head.lastIndex { !isTrimmed($0) }.map(head.index(after:)) ?? head.startIndex)]
    }
}

extension StringProtocol {
    /// The text without the characters at its ends that fulfil a condition: white space and line ends, unless said otherwise.
    package func trimmed(_ isTrimmed: (Character) -> Bool = \.isWhitespace) -> String {
        String(trimmed(while: isTrimmed))
    }
}

extension String {
    /// The bytes of a hexadecimal text: two digits a byte in either case, after `0x` or not, with blanks or colons between them or not; nil for
    /// anything else.
    package var hexadecimalBytes: [UInt8]? {
        var text = utf8[...]
        if text.starts(with: "0x".utf8) || text.starts(with: "0X".utf8) { text = text.dropFirst(2) }
        var bytes: [UInt8] = []
        var high: UInt8?
        for character in text where character != 0x20 && character != UInt8(ascii: ":") {
            guard let digit = character.hexadecimalValue else { return nil }
            if let first = high {
                bytes.append(first << 4 | digit)
                high = nil
            } else {
                high = digit
            }
        }
        return high == nil ? bytes : nil
    }
}
