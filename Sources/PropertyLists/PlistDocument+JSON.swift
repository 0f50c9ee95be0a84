// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Formats
package import Vocabulary

extension PlistDocument {
    /// The property list that a JSON document holds below some names, for example `expo`, `ios`, `infoPlist`; nil if there is none. `*` is any name.
    ///
    /// - Throws: `malformed.json`; values that no property list can hold, such as `null`, are left out.
    package init?(json bytes: [UInt8], below names: [String]) throws(MalformedInput) {
        let text = Array(bytes.dropFirst(TextFileEncoding.markCount(bytes)))
        var limits = JSONReader.Limits()
        limits.depth = 64
        limits.values = 500_000
        // The reader of JSON judges the text, and the other one knows where everything is in it.
        _ = try JSONReader.read(text, limits: limits)
        var reader = BracedReader(text, dialect: .script)
        guard let root = (try reader.value())[path: names], root.members != nil else { return nil }
        self.init(root: root, format: .json, source: text)
    }

    /// The literal that a script gives to a name, for example `infoPlist: { … }`, where the name is no part of a comment or a text; nil if there is none.
    ///
    /// - Throws: `malformed.plist` if what is there is computed.
    package init?(script bytes: [UInt8], name: String) throws(MalformedInput) {
        guard bytes.contains(name.utf8), String(validating: bytes, as: UTF8.self) != nil else { return nil }
        var tokens = XMLTokenizer(bytes)
        var quote: UInt8?
        var previous: UInt8 = 0
        while let byte = tokens.byte {
            if let open = quote {
                if byte == UInt8(ascii: "\\") { tokens.position += 1 }
                if byte == open || byte == 0x0A && open != UInt8(ascii: "`") { quote = nil }
            } else if tokens.looking(at: "//") {
                while let next = tokens.byte, next != 0x0A { tokens.position += 1 }
            } else if tokens.looking(at: "/*") {
                while tokens.byte != nil, !tokens.looking(at: "*/") { tokens.position += 1 }
            } else if !previous.isASCIIAlphanumeric, tokens.bytes[tokens.position...].starts(with: name.utf8) {
                tokens.position += name.utf8.count
                if byte != tokens.byte, tokens.byte == UInt8(ascii: "\"") || tokens.byte == UInt8(ascii: "'") {
                    tokens.position += 1
                }
                // plist["NSAppTransportSecurity"] = ...
                if tokens.byte == UInt8(ascii: "]") { tokens.position += 1 }
                tokens.skipSpace()
                let isArrow = tokens.looking(at: "=>")
                if isArrow { tokens.position += 1 }
                if isArrow || tokens.byte == UInt8(ascii: ":") || tokens.byte == UInt8(ascii: "=") {
                    var reader = BracedReader(bytes, from: tokens.position + 1, dialect: .script)
                    let root = try reader.value()
                    guard root.members != nil else { return nil }
                    self.init(root: root, format: .text, source: bytes)
                    return
                }
                previous = 0
                continue
            } else if "\"'`".utf8.contains(byte), !Self.isName(name, quotedAt: tokens) {
                quote = byte
            }
            previous = byte
            tokens.position += 1
        }
        return nil
    }

    /// Whether a quoted text is the name itself.
    private static func isName(_ name: String, quotedAt tokens: XMLTokenizer) -> Bool {
        let end = tokens.position + 1 + name.utf8.count
        return end < tokens.bytes.count && tokens.bytes[end] == tokens.byte
            && tokens.bytes[tokens.position...].dropFirst().starts(with: name.utf8)
    }
}

extension PlistNode {
    /// The value below some names; `*` is any name that leads to one.
    package subscript(path names: [String]) -> PlistNode? {
        guard let name = names.first else { return self }
        let rest = Array(names.dropFirst())
        if name == "*" { return members?.lazy.compactMap { $0.node[path: rest] }.first }
        return self[name]?[path: rest]
    }
}
