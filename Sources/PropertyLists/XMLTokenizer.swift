// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import Vocabulary

/// The tokens of XML, for the files of apps that are written in it: one pass over the bytes, without recursion.
///
/// What a document defines itself is refused: no such file needs entities, and they are how a small file becomes a huge one.
package struct XMLTokenizer {
    /// The text, in UTF-8.
    package let bytes: [UInt8]
    package var position = 0

    package init(_ bytes: [UInt8], from position: Int = 0) {
        self.bytes = bytes
        self.position = position
    }

    /// The next byte, nil at the end.
    package var byte: UInt8? { position < bytes.count ? bytes[position] : nil }

    /// A fault with the line and the column of an offset, by default of the present one.
    package func fault(_ reason: String, at offset: Int? = nil) -> MalformedInput {
        .plist(bytes.place(of: offset ?? position), reason)
    }

    package mutating func skipSpace() {
        while let byte, byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D { position += 1 }
    }

    /// Whether the next bytes spell `text`.
    package func looking(at text: StaticString) -> Bool {
        let count = text.utf8CodeUnitCount
        guard position + count <= bytes.count else { return false }
        // Safe: `count` is the count of the words.
        return text.withUTF8Buffer { wanted in
            for index in 0..<count where unsafe wanted[index] != bytes[position + index] { return false }
            return true
        }
    }

    // MARK: - What is no element

    /// Skips a comment, a processing instruction or the document type, if one begins here.
    package mutating func skipMarkup() throws(MalformedInput) -> Bool {
        guard position + 1 < bytes.count else { return false }
        switch bytes[position + 1] {
        case UInt8(ascii: "?"):
            try skip(past: "?>", from: 2, what: "a processing instruction")
        case UInt8(ascii: "!"):
            if looking(at: "<!--") {
                try skip(past: "-->", from: 4, what: "a comment")
            } else if looking(at: "<!DOCTYPE") {
                try skipDocumentType()
            } else {
                throw fault("has markup that is not allowed here")
            }
        default: return false
        }
        return true
    }

    /// Skips a CDATA section, if one begins here: the offsets of its text.
    package mutating func section() throws(MalformedInput) -> Range<Int>? {
        guard looking(at: "<![CDATA[") else { return nil }
        let start = position + 9
        try skip(past: "]]>", from: 9, what: "a CDATA section")
        return start..<(position - 3)
    }

    private mutating func skip(past end: String, from: Int, what: String) throws(MalformedInput) {
        guard let found = bytes[(position + from)...].firstRange(of: end.utf8) else {
            throw fault("has \(what) that never ends")
        }
        position = found.upperBound
    }

    private mutating func skipDocumentType() throws(MalformedInput) {
        let start = position
        switch skip(to: UInt8(ascii: ">"), or: UInt8(ascii: "[")) {
        case nil: throw fault("has a document type that never ends", at: start)
        case UInt8(ascii: "["):
            throw fault(
                "declares entities or elements of its own in its document type; remove the part in brackets",
                at: position - 1)
        default: return
        }
    }

    /// Skips to the first of two bytes that is in no quotation marks, and past it; nil if there is none.
    private mutating func skip(to end: UInt8, or other: UInt8) -> UInt8? {
        var quote: UInt8?
        while position < bytes.count {
            let byte = bytes[position]
            position += 1
            if let open = quote {
                if byte == open { quote = nil }
            } else if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'") {
                quote = byte
            } else if byte == end || byte == other {
                return byte
            }
        }
        return nil
    }

    // MARK: - Tags

    /// Reads `<name` or `</name`, where the next byte is `<`.
    package mutating func tag() -> (name: Range<Int>, isClosing: Bool) {
        position += 1
        let isClosing = byte == UInt8(ascii: "/")
        if isClosing { position += 1 }
        return (name(), isClosing)
    }

    private mutating func name(isAttribute: Bool = false) -> Range<Int> {
        let start = position
        while position < bytes.count {
            switch bytes[position] {
            case 0x20, 0x09, 0x0A, 0x0D, UInt8(ascii: ">"), UInt8(ascii: "/"), UInt8(ascii: "<"):
                return start..<position
            case UInt8(ascii: "="), UInt8(ascii: "\""), UInt8(ascii: "'"):
                if isAttribute { return start..<position }
                position += 1
            default: position += 1
            }
        }
        return start..<position
    }

    /// Skips attributes and the `>` after them. Returns whether the tag ends with `/>`; nil if it does not end.
    package mutating func skipToTagEnd() -> Bool? {
        guard skip(to: UInt8(ascii: ">"), or: UInt8(ascii: "<")) == UInt8(ascii: ">") else { return nil }
        return position > 1 && bytes[position - 2] == UInt8(ascii: "/")
    }

    /// Reads `name="value"` with references resolved; nil if the tag ends instead.
    ///
    /// - Parameter limit: the most bytes of the value.
    package mutating func attribute(limit: Int) throws(MalformedInput) -> (name: Range<Int>, value: [UInt8])? {
        skipSpace()
        if byte == UInt8(ascii: ">") || looking(at: "/>") { return nil }
        let name = self.name(isAttribute: true)
        guard !name.isEmpty else { throw fault("a tag is not closed") }
        skipSpace()
        guard byte == UInt8(ascii: "=") else { throw fault("an attribute has no value") }
        position += 1
        skipSpace()
        guard let quote = byte, quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'") else {
            throw fault("a value is not quoted")
        }
        position += 1
        let start = position
        var value: [UInt8] = []
        while let next = byte, next != quote {
            guard next != UInt8(ascii: "<"), value.count < limit else {
                throw fault("a value is not closed", at: start)
            }
            if next == UInt8(ascii: "&") {
                value += String(try reference()).utf8
            } else {
                value.append(next)
                position += 1
            }
        }
        guard byte == quote else { throw fault("a value is not closed", at: start) }
        position += 1
        return (name, value)
    }

    /// One character given as `&amp;` or `&#38;` or `&#x26;`, where the next byte is `&`.
    package mutating func reference() throws(MalformedInput) -> Unicode.Scalar {
        let start = position
        position += 1
        let nameStart = position
        while position < bytes.count, position - nameStart < 12, bytes[position] != UInt8(ascii: ";") { position += 1 }
        guard position < bytes.count, bytes[position] == UInt8(ascii: ";") else {
            throw fault("a bare '&' in text; write &amp;", at: start)
        }
        let name = String(decoding: bytes[nameStart..<position], as: UTF8.self)
        position += 1
        switch name {
        case "lt": return "<"
        case "gt": return ">"
        case "amp": return "&"
        case "quot": return "\""
        case "apos": return "'"
        default:
            let number: UInt32? =
                name.hasPrefix("#x")
                ? UInt32(name.dropFirst(2), radix: 16) : name.hasPrefix("#") ? UInt32(name.dropFirst()) : nil
            if let number, number > 0, let scalar = Unicode.Scalar(number) { return scalar }
            throw fault("&\(name); is not one of the five entities of XML", at: start)
        }
    }
}
