// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import Vocabulary

/// Reads dictionaries that are written with braces, and remembers where everything is: old-style property lists (Xcode's projects),
/// JSON, literals of JavaScript and Swift, and what `plutil -p`, `PlistBuddy -c Print`, `defaults read` and `nscurl` print.
///
/// The forms differ in what separates a key from its value and in the types of bare words, so one grammar reads all. Recursion is bounded
/// by ``PlistLimits/depth``, values by ``PlistLimits/values``, and every step takes a byte.
package struct BracedReader {
    /// What a word without quotes is.
    package enum Dialect: Sendable {
        /// A property list in the old style, in which every word is a string.
        case oldStyle
        /// What a program printed: `true`, `false`, `1` and `0` are booleans, other words strings.
        case printed
        /// The same of PlistBuddy, where a value without quotes ends with its line.
        case buddy
        /// JSON, JavaScript and Python: numbers, booleans and `null`; other words are no literals.
        case script
    }

    private let bytes: [UInt8]
    private let dialect: Dialect
    private(set) var position: Int
    private var values = 0
    private var path: [String] = []
    private(set) var oddities: [PlistDocument.Oddity] = []

    package init(_ bytes: [UInt8], from position: Int = 0, dialect: Dialect) {
        self.bytes = bytes
        self.position = position
        self.dialect = dialect
    }

    /// Reads a whole text: one value, or the members of a dictionary without its braces.
    ///
    /// - Parameter isPrinted: whether a text in the old style may be the print of a program, where `1` is a boolean.
    /// - Throws: `malformed.plist`. Nil if the text looks like none of the forms.
    static func whole(
        _ bytes: [UInt8], isPrinted: Bool
    ) throws(MalformedInput) -> (root: PlistNode, oddities: [PlistDocument.Oddity])? {
        guard let (dialect, isFragment) = form(of: bytes, isPrinted: isPrinted) else { return nil }
        guard String(validating: bytes, as: UTF8.self) != nil else { throw .plist("", "is not text in UTF-8") }
        var reader = BracedReader(bytes, dialect: dialect)
        let root = isFragment ? try reader.members(until: nil, depth: 0) : try reader.value(depth: 0)
        try reader.skipSpace()
        // A comma or a semicolon comes with a value that was cut out of a larger text.
        while let byte = reader.byte, byte == UInt8(ascii: ";") || byte == UInt8(ascii: ",") {
            reader.position += 1
            try reader.skipSpace()
        }
        guard reader.byte == nil else { throw reader.fault("something follows the dictionary") }
        return (root, reader.oddities)
    }

    /// What the first key and what follows it say about a text; nil if it is none of the forms.
    private static func form(of bytes: [UInt8], isPrinted: Bool) -> (Dialect, isFragment: Bool)? {
        var reader = BracedReader(bytes, dialect: .oldStyle)
        guard (try? reader.skipSpace()) != nil else { return nil }
        if reader.looking(at: "Dict {") || reader.looking(at: "Array {") { return (.buddy, false) }
        let isFragment = reader.byte != UInt8(ascii: "{")
        if !isFragment { reader.position += 1 }
        guard (try? reader.skipSpace()) != nil, let key = try? reader.key(), !key.isEmpty,
            (try? reader.skipSpace()) != nil
        else { return reader.byte == UInt8(ascii: "}") && !isFragment ? (.script, false) : nil }
        if reader.looking(at: "=>") { return (.printed, isFragment) }
        if reader.byte == UInt8(ascii: ":") { return (.script, isFragment) }
        guard reader.byte == UInt8(ascii: "=") else { return nil }
        reader.position += 1
        guard (try? reader.skipSpace()) != nil else { return nil }
        if reader.looking(at: "Dict {") || reader.looking(at: "Array {") { return (.buddy, isFragment) }
        return (isPrinted ? .printed : .oldStyle, isFragment)
    }

    // MARK: - Values

    /// Reads the value at ``position``.
    package mutating func value(depth: Int = 0) throws(MalformedInput) -> PlistNode {
        guard let node = try optionalValue(depth: depth) else { throw fault("null is no value of a property list") }
        return node
    }

    /// The same; nil for `null` and `undefined` of a script.
    private mutating func optionalValue(depth: Int) throws(MalformedInput) -> PlistNode? {
        if dialect == .buddy {
            // An empty text leaves its line empty.
            while byte == 0x20 { position += 1 }
        } else {
            try skipSpace()
        }
        guard depth < PlistLimits.depth else { throw fault("is nested deeper than \(PlistLimits.depth) levels") }
        values += 1
        guard values <= PlistLimits.values else { throw fault("has more than \(PlistLimits.values) values") }
        let start = position
        if dialect == .buddy {
            if looking(at: "Dict {") {
                position += 5
            } else if looking(at: "Array {") {
                position += 6
                return try array(until: UInt8(ascii: "}"), start: start, depth: depth)
            }
        }
        switch byte {
        case UInt8(ascii: "{"):
            let inner = try members(until: UInt8(ascii: "}"), depth: depth)
            return PlistNode(inner.value, range: start..<position)
        case UInt8(ascii: "[") where dialect == .script && isSwiftDictionary:
            let inner = try members(until: UInt8(ascii: "]"), depth: depth)
            return PlistNode(inner.value, range: start..<position)
        case UInt8(ascii: "["): return try array(until: UInt8(ascii: "]"), start: start, depth: depth)
        case UInt8(ascii: "(") where dialect == .oldStyle || dialect == .printed:
            return try array(until: UInt8(ascii: ")"), start: start, depth: depth)
        case UInt8(ascii: "<") where dialect != .script:
            guard let end = bytes[position...].firstIndex(of: UInt8(ascii: ">")) else { throw fault("is cut off") }
            let text = String(decoding: bytes[(position + 1)..<end].filter { $0 > 0x20 }, as: UTF8.self)
            position = end + 1
            return PlistNode(.data(text.hexadecimalBytes ?? []), range: start..<position)
        case UInt8(ascii: "\""), UInt8(ascii: "'"), UInt8(ascii: "`"):
            return PlistNode(.string(try quoted()), range: start..<position)
        case nil: throw fault("ends before its last brace is closed; the text is cut off")
        default: return try bare(start)
        }
    }

    private mutating func bare(_ start: Int) throws(MalformedInput) -> PlistNode? {
        let word = dialect == .buddy ? line() : self.word()
        guard !word.isEmpty || dialect == .buddy else { throw fault("expected a value", at: start) }
        let range = start..<position
        switch dialect {
        case .oldStyle: return PlistNode(.string(word), range: range)
        case .printed, .buddy:
            switch word {
            // Python's words, but what PlistBuddy prints so is a string.
            case "True" where dialect == .printed, "true", "1": return PlistNode(.boolean(true), range: range)
            case "False" where dialect == .printed, "false", "0": return PlistNode(.boolean(false), range: range)
            default: return PlistNode(.string(word), range: range)
            }
        case .script:
            switch word {
            case "true", "True": return PlistNode(.boolean(true), range: range)
            case "false", "False": return PlistNode(.boolean(false), range: range)
            case "null", "undefined", "None": return nil
            default:
                if let number = Int(word) { return PlistNode(.integer(number), range: range) }
                if let number = Double(word), word.utf8.first.map({ $0 < 0x3A }) == true {
                    return PlistNode(.real(number), range: range)
                }
                throw fault("'\(word.prefix(bytes: 40))' is computed when the file is run, not written here", at: start)
            }
        }
    }

    /// The members up to the closing brace, or to the end of the text.
    private mutating func members(until end: UInt8?, depth: Int) throws(MalformedInput) -> PlistNode {
        let start = position
        if end != nil { position += 1 }
        var members: [PlistMember] = []
        var places: [UTF8Key: Int] = [:]
        while true {
            try skipSpace()
            guard let byte else {
                guard end == nil else { throw fault("ends before its last brace is closed; the text is cut off") }
                break
            }
            if byte == end {
                position += 1
                break
            }
            let keyStart = position
            let key = try key()
            guard !key.isEmpty else { throw fault("expected a key", at: keyStart) }
            if let reason = PlistText.fault(key, isKey: true) { throw fault(reason, at: keyStart) }
            let keyRange = keyStart..<position
            try skipSpace()
            if looking(at: "=>") {
                position += 2
            } else if self.byte == UInt8(ascii: "=") || self.byte == UInt8(ascii: ":") {
                position += 1
            } else {
                throw fault(
                    dialect == .script
                        ? "'\(key.prefix(bytes: 40))' is computed when the file is run, not written here"
                        : "the key '\(key.prefix(bytes: 40))' has no value", at: keyStart)
            }
            path.append(key)
            let node = try optionalValue(depth: depth + 1)
            if let node {
                let earlier = places.updateValue(members.count, forKey: UTF8Key(key))
                if let earlier, oddities.count < PlistLimits.oddities {
                    oddities.append(
                        .init(
                            kind: .duplicateKey, keyPath: path, offset: keyStart, earlier: members[earlier].range))
                }
                members.append(PlistMember(key, keyRange: keyRange, node))
            }
            path.removeLast()
            try endItem(before: end)
        }
        return PlistNode(.dictionary(members), range: start..<position)
    }

    private mutating func array(until end: UInt8, start: Int, depth: Int) throws(MalformedInput) -> PlistNode {
        position += 1
        var elements: [PlistNode] = []
        while true {
            try skipSpace()
            if byte == end {
                position += 1
                return PlistNode(.array(elements), range: start..<position)
            }
            // `plutil -p` numbers the elements.
            let place = position
            if dialect == .printed, word().utf8.allSatisfy({ 0x30...0x39 ~= $0 }), position > place {
                try skipSpace()
                if looking(at: "=>") { position += 2 } else { position = place }
            } else {
                position = place
            }
            path.append("[\(elements.count)]")
            if let node = try optionalValue(depth: depth + 1) { elements.append(node) }
            path.removeLast()
            try endItem(before: end)
        }
    }

    /// What ends a member or an element. Only what is printed line by line may have nothing there.
    private mutating func endItem(before end: UInt8?) throws(MalformedInput) {
        try skipSpace()
        if byte == UInt8(ascii: ";") || byte == UInt8(ascii: ",") {
            position += 1
        } else if byte != end, byte != nil, dialect == .oldStyle || dialect == .script {
            throw fault(dialect == .script ? "is computed when the file is run, not written here" : "expected ';'")
        }
    }

    /// Whether the bracket at ``position`` begins a dictionary of Swift: a text and a colon follow.
    private var isSwiftDictionary: Bool {
        var ahead = self
        ahead.position += 1
        guard (try? ahead.skipSpace()) != nil, ahead.byte == UInt8(ascii: "\""), (try? ahead.quoted()) != nil,
            (try? ahead.skipSpace()) != nil
        else { return false }
        return ahead.byte == UInt8(ascii: ":")
    }

    // MARK: - Words

    private mutating func key() throws(MalformedInput) -> String {
        if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'") { return try quoted() }
        guard dialect == .buddy else { return word() }
        let start = position
        while let byte, byte != 0x0A, !looking(at: " = ") { position += 1 }
        return String(decoding: bytes[start..<position], as: UTF8.self)
    }

    /// A word without quotes; empty where none begins.
    private mutating func word() -> String {
        let start = position
        while let byte {
            let isMark = "{}()[]<>\"';,=".utf8.contains(byte) || byte == UInt8(ascii: ":") && dialect != .printed
            if byte <= 0x20 || isMark { break }
            position += 1
        }
        return String(decoding: bytes[start..<position], as: UTF8.self)
    }

    private mutating func line() -> String {
        let start = position
        while let byte, byte != 0x0A { position += 1 }
        let text = bytes[start..<position].reversed().drop { $0 <= 0x20 }.reversed()
        return String(decoding: text, as: UTF8.self)
    }

    private mutating func quoted() throws(MalformedInput) -> String {
        let start = position
        let quote = byte
        position += 1
        var text = ""
        var run = position
        func flush(_ text: inout String, _ run: Range<Int>) { text += String(decoding: bytes[run], as: UTF8.self) }
        while let byte {
            if byte == quote {
                flush(&text, run..<position)
                position += 1
                if let reason = PlistText.fault(text, isKey: false) { throw fault(reason, at: start) }
                return text
            }
            if quote == UInt8(ascii: "`"), looking(at: "${") {
                throw fault("a text is computed when the file is run, not written here", at: start)
            }
            guard byte == UInt8(ascii: "\\") else {
                position += 1
                continue
            }
            flush(&text, run..<position)
            position += 1
            escape(into: &text)
            run = position
        }
        throw fault("a text has no closing quote; the text is cut off", at: start)
    }

    /// What follows a backslash.
    private mutating func escape(into text: inout String) {
        guard let byte else { return }
        position += 1
        switch byte {
        case UInt8(ascii: "n"): text += "\n"
        case UInt8(ascii: "t"): text += "\t"
        case UInt8(ascii: "r"): text += "\r"
        case UInt8(ascii: "u"), UInt8(ascii: "U"):
            var units: [UInt16] = []
            while let unit = UInt16(String(decoding: bytes[position...].prefix(4), as: UTF8.self), radix: 16) {
                position = min(position + 4, bytes.count)
                units.append(unit)
                guard units.count < 64, looking(at: "\\u") || looking(at: "\\U") else { break }
                position += 2
            }
            text += String(decoding: units, as: UTF16.self)
        default:
            // A character of UTF-8 stays whole: its other bytes come with the next run.
            position -= 1
            let end = min(bytes.count, position + 1)
            let rest = bytes[end...].prefix { $0 & 0xC0 == 0x80 }.count
            text += String(decoding: bytes[position..<(end + rest)], as: UTF8.self)
            position = end + rest
        }
    }

    // MARK: - Bytes

    private var byte: UInt8? { position < bytes.count ? bytes[position] : nil }

    private func looking(at text: StaticString) -> Bool { XMLTokenizer(bytes, from: position).looking(at: text) }

    /// Skips white space, and comments where the form has them.
    private mutating func skipSpace() throws(MalformedInput) {
        while let byte {
            if byte <= 0x20 {
                position += 1
            } else if dialect == .oldStyle || dialect == .script, looking(at: "//") {
                position = bytes[position...].firstIndex(of: 0x0A) ?? bytes.count
            } else if dialect == .oldStyle || dialect == .script, looking(at: "/*") {
                guard let end = bytes[min(position + 2, bytes.count)...].firstRange(of: "*/".utf8) else {
                    throw fault("has a comment that never ends")
                }
                position = end.upperBound
            } else {
                return
            }
        }
    }

    private func fault(_ reason: String, at offset: Int? = nil) -> MalformedInput {
        XMLTokenizer(bytes, from: position).fault(reason, at: offset)
    }
}
