// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import Findings

/// The elements that a property list may have.
enum ElementName: String, CaseIterable {
    case plist, dict, array, key, string, integer, real, date, data
    case `true`, `false`

    init?(_ bytes: UnsafeBufferPointer<UInt8>.SubSequence) {
        // A switch over the length and the first letter is enough to choose one candidate.
        guard let first = bytes.first else { return nil }
        let candidate: ElementName
        switch (bytes.count, first) {
        case (5, UInt8(ascii: "p")): candidate = .plist
        case (4, UInt8(ascii: "d")):
            candidate = bytes[bytes.startIndex + 1] == UInt8(ascii: "i") ? .dict : .dateOrData(bytes)
        case (5, UInt8(ascii: "a")): candidate = .array
        case (3, UInt8(ascii: "k")): candidate = .key
        case (6, UInt8(ascii: "s")): candidate = .string
        case (7, UInt8(ascii: "i")): candidate = .integer
        case (4, UInt8(ascii: "r")): candidate = .real
        case (4, UInt8(ascii: "t")): candidate = .true
        case (5, UInt8(ascii: "f")): candidate = .false
        default: return nil
        }
        guard bytes.elementsEqual(candidate.rawValue.utf8) else { return nil }
        self = candidate
    }

    private static func dateOrData(_ bytes: UnsafeBufferPointer<UInt8>.SubSequence) -> ElementName {
        bytes.elementsEqual("date".utf8) ? .date : .data
    }
}

/// One tag: `<name ...>`, `</name>` or `<name/>`.
struct Tag {
    let name: ElementName
    let isClosing: Bool
    let isEmpty: Bool
}

extension XMLPlistReader {
    /// A fault with the line and the column of an offset, by default of the present one.
    func fault(_ reason: String, at offset: Int? = nil) -> MalformedInput {
        let end = min(offset ?? position, bytes.count)
        var line = 1
        var column = 1
        for byte in bytes[0..<end] {
            if byte == 0x0A {
                line += 1
                column = 1
            } else if byte & 0xC0 != 0x80 {
                column += 1
            }
        }
        return .plist("line \(line), column \(column)", reason)
    }

    mutating func skipSpace() {
        while position < bytes.count {
            switch bytes[position] {
            case 0x20, 0x09, 0x0A, 0x0D: position += 1
            default: return
            }
        }
    }

    /// Whether the bytes at the present place spell `text`.
    func looking(at text: StaticString) -> Bool {
        let count = text.utf8CodeUnitCount
        guard position + count <= bytes.count else { return false }
        return text.withUTF8Buffer { wanted in
            for index in 0..<count where wanted[index] != bytes[position + index] { return false }
            return true
        }
    }

    /// Skips a comment, a processing instruction or the document type, if one stands here.
    mutating func skipMarkup() throws(MalformedInput) -> Bool {
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
                throw fault("has markup that a property list may not have")
            }
        default: return false
        }
        return true
    }

    private mutating func skip(past end: StaticString, from: Int, what: String) throws(MalformedInput) {
        let start = position
        position += from
        while position < bytes.count {
            if looking(at: end) {
                position += end.utf8CodeUnitCount
                return
            }
            position += 1
        }
        position = start
        throw fault("has \(what) that never ends")
    }

    private mutating func skipDocumentType() throws(MalformedInput) {
        let start = position
        var quote: UInt8?
        while position < bytes.count {
            let byte = bytes[position]
            position += 1
            if let open = quote {
                if byte == open { quote = nil }
            } else if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'") {
                quote = byte
            } else if byte == UInt8(ascii: "[") {
                throw fault(
                    "declares entities or elements of its own in its document type; remove the part in brackets",
                    at: position - 1
                )
            } else if byte == UInt8(ascii: ">") {
                return
            }
        }
        throw fault("has a document type that never ends", at: start)
    }

    /// Reads the tag at the present place, which is a `<`.
    mutating func readTag() throws(MalformedInput) -> Tag {
        let start = position
        position += 1
        let isClosing = position < bytes.count && bytes[position] == UInt8(ascii: "/")
        if isClosing { position += 1 }
        let nameStart = position
        while position < bytes.count, !isNameEnd(bytes[position]) { position += 1 }
        guard let name = ElementName(bytes[nameStart..<position]) else {
            let text = String(decoding: bytes[nameStart..<min(position, nameStart + 40)], as: UTF8.self)
            throw fault("<\(text)> is no element of a property list", at: start)
        }
        var quote: UInt8?
        var last: UInt8 = 0
        while position < bytes.count {
            let byte = bytes[position]
            position += 1
            if let open = quote {
                if byte == open { quote = nil }
            } else if byte == UInt8(ascii: ">") {
                return Tag(name: name, isClosing: isClosing, isEmpty: last == UInt8(ascii: "/"))
            } else if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'") {
                quote = byte
            } else if byte == UInt8(ascii: "<") {
                break
            }
            last = byte
        }
        throw fault("<\(name.rawValue) has no '>'", at: start)
    }

    private func isNameEnd(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x20, 0x09, 0x0A, 0x0D, UInt8(ascii: ">"), UInt8(ascii: "/"), UInt8(ascii: "<"): true
        default: false
        }
    }

    mutating func expectClosing(_ name: ElementName, start: Int) throws(MalformedInput) {
        skipSpace()
        guard position < bytes.count, bytes[position] == UInt8(ascii: "<") else {
            throw fault("<\(name.rawValue)> is not closed", at: start)
        }
        let tag = try readTag()
        guard tag.isClosing, tag.name == name else { throw fault("<\(name.rawValue)> is not closed", at: start) }
    }

    /// The text up to the closing tag of `name`, with entities and CDATA sections resolved.
    mutating func readText(_ name: ElementName, start: Int) throws(MalformedInput) -> String {
        var text = ""
        var runStart = position
        while position < bytes.count {
            let byte = bytes[position]
            if byte == UInt8(ascii: "<") {
                let run = bytes[runStart..<position]
                if looking(at: "<![CDATA[") {
                    text += String(decoding: run, as: UTF8.self)
                    let contents = position + 9
                    try skip(past: "]]>", from: 9, what: "a CDATA section")
                    text += String(decoding: bytes[contents..<(position - 3)], as: UTF8.self)
                    runStart = position
                    continue
                }
                if looking(at: "<!--") {
                    text += String(decoding: run, as: UTF8.self)
                    _ = try skipMarkup()
                    runStart = position
                    continue
                }
                let whole =
                    text.isEmpty ? String(decoding: run, as: UTF8.self) : text + String(decoding: run, as: UTF8.self)
                let tagStart = position
                let tag = try readTag()
                guard tag.isClosing, tag.name == name else {
                    throw fault("<\(tag.name.rawValue)> stands inside of <\(name.rawValue)>", at: tagStart)
                }
                if mayHaveMarks || name == .key, let reason = PlistText.fault(whole, isKey: name == .key) {
                    throw fault(reason, at: start)
                }
                return whole
            }
            if byte == UInt8(ascii: "&") {
                text += String(decoding: bytes[runStart..<position], as: UTF8.self)
                let scalar = try readReference()
                if scalar.value >= 0x300 { mayHaveMarks = true }
                text.unicodeScalars.append(scalar)
                runStart = position
            } else {
                position += 1
            }
        }
        throw fault("<\(name.rawValue)> is not closed; the file is truncated", at: start)
    }

    /// One character given as `&amp;` or `&#38;` or `&#x26;`.
    private mutating func readReference() throws(MalformedInput) -> Unicode.Scalar {
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
            throw fault("&\(name); is none of the five entities of a property list", at: start)
        }
    }
}
