// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Vocabulary

/// The elements that a property list may have, the frequent ones first.
enum ElementName: String, CaseIterable {
    case key, string, dict, `true`, `false`, array, integer, real, date, data, plist

    init?(_ bytes: ArraySlice<UInt8>) {
        guard let name = Self.allCases.first(where: { bytes.elementsEqual($0.rawValue.utf8) }) else { return nil }
        self = name
    }
}

/// One tag: `<name ...>`, `</name>` or `<name/>`.
struct Tag {
    let name: ElementName
    let isClosing: Bool
    let isEmpty: Bool
}

extension XMLPlistReader {
    /// Reads the tag at the present place, which is a `<`. What follows the name is not looked at, as in Apple's parser.
    mutating func readTag() throws(MalformedInput) -> Tag {
        let start = tokens.position
        let tag = tokens.tag()
        guard let name = ElementName(tokens.bytes[tag.name]) else {
            throw fault("<\(text(tag.name.prefix(40)))> is not an element of a property list", at: start)
        }
        guard let isEmpty = tokens.skipToTagEnd() else { throw fault("<\(name.rawValue) has no '>'", at: start) }
        return Tag(name: name, isClosing: tag.isClosing, isEmpty: isEmpty)
    }

    mutating func expectClosing(_ name: ElementName, start: Int) throws(MalformedInput) {
        tokens.skipSpace()
        guard tokens.byte == UInt8(ascii: "<") else { throw fault("<\(name.rawValue)> is not closed", at: start) }
        let tag = try readTag()
        guard tag.isClosing, tag.name == name else { throw fault("<\(name.rawValue)> is not closed", at: start) }
    }

    private func text(_ range: Range<Int>) -> String { String(decoding: tokens.bytes[range], as: UTF8.self) }

    /// The text up to the closing tag of `name`, with entities and CDATA sections resolved.
    mutating func readText(_ name: ElementName, start: Int) throws(MalformedInput) -> String {
        var text = ""
        var runStart = tokens.position
        while let byte = tokens.byte {
            if byte == UInt8(ascii: "<") {
                let run = self.text(runStart..<tokens.position)
                let section = try tokens.section()
                if section != nil || tokens.looking(at: "<!--") {
                    text += run + (section.map(self.text) ?? "")
                    if section == nil { _ = try tokens.skipMarkup() }
                    runStart = tokens.position
                    continue
                }
                let whole = text.isEmpty ? run : text + run
                let tagStart = tokens.position
                let tag = try readTag()
                guard tag.isClosing, tag.name == name else {
                    throw fault("<\(tag.name.rawValue)> is inside <\(name.rawValue)>", at: tagStart)
                }
                if mayHaveMarks || name == .key, let reason = PlistText.fault(whole, isKey: name == .key) {
                    throw fault(reason, at: start)
                }
                return whole
            }
            if byte == UInt8(ascii: "&") {
                text += self.text(runStart..<tokens.position)
                let scalar = try tokens.reference()
                if scalar.value >= 0x300 { mayHaveMarks = true }
                text.unicodeScalars.append(scalar)
                runStart = tokens.position
            } else {
                tokens.position += 1
            }
        }
        throw fault("<\(name.rawValue)> is not closed; the file is truncated", at: start)
    }
}
