// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import Vocabulary

/// Reads one JSON document into a ``JSONValue`` that keeps every member, duplicates too.
///
/// RFC 8259 to the letter: UTF-8 without a byte order mark, nothing after the document, no lone surrogates. It reads requests,
/// configurations, ATS dictionaries and answers of Apple. The document's size is bounded by the caller, its nesting here.
package struct JSONReader {
    /// How much one document may ask of its reader. Its size in bytes is bounded by the caller.
    package struct Limits: Sendable {
        /// How deep objects and arrays may stand in each other; recursion goes no deeper. No call of the service needs more than four levels.
        package var depth = 32
        /// The most bytes of a member's name. The longest names that we know are host names, of at most 255 bytes.
        package var nameBytes = 4096
        /// The most bytes of a number. JavaScript writes at most 25.
        package var numberBytes = 256
        /// The most values in the document, the document itself included.
        package var values = Int.max

        /// The limits of documents that their owner gives: configurations, ATS dictionaries.
        package init() {}

        /// The limits of documents that anybody may send. No request has more than 16 members.
        package static var outside: Limits {
            var limits = Limits()
            limits.nameBytes = 256
            limits.numberBytes = 64
            limits.values = 128
            return limits
        }
    }

    private let bytes: [UInt8]
    private let limits: Limits
    private var position = 0
    private var values = 0

    /// Reads the document within limits.
    ///
    /// - Throws: ``MalformedInput`` with the code `malformed.json`, and the line and column.
    package static func read(_ bytes: [UInt8], limits: Limits = Limits()) throws(MalformedInput) -> JSONValue {
        var reader = JSONReader(bytes: bytes, limits: limits)
        reader.skipSpace()
        let value = try reader.value(depth: 0)
        reader.skipSpace()
        guard reader.position == bytes.count else { throw reader.fault("something follows the document") }
        return value
    }

    private init(bytes: [UInt8], limits: Limits) {
        self.bytes = bytes
        self.limits = limits
    }

    private func fault(_ reason: String) -> MalformedInput {
        MalformedInput(code: .malformedJSON, place: bytes.place(of: position), reason: reason)
    }

    private var current: UInt8? { position < bytes.count ? bytes[position] : nil }

    private mutating func skipSpace() {
        while let byte = current, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { position += 1 }
    }

    private mutating func value(depth: Int) throws(MalformedInput) -> JSONValue {
        guard depth < limits.depth else { throw fault("nested deeper than \(limits.depth) levels") }
        guard values < limits.values else { throw fault("more than \(limits.values) values") }
        values += 1
        switch current {
        case UInt8(ascii: "{"): return try object(depth: depth)
        case UInt8(ascii: "["): return try array(depth: depth)
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "t"): return try word("true", .bool(true))
        case UInt8(ascii: "f"): return try word("false", .bool(false))
        case UInt8(ascii: "n"): return try word("null", .null)
        case nil: throw fault("the document ends too early")
        default: return try number()
        }
    }

    private mutating func word(_ word: String, _ value: JSONValue) throws(MalformedInput) -> JSONValue {
        let length = word.utf8.count
        guard position + length <= bytes.count else { throw fault("the document ends too early") }
        let same = word.utf8.elementsEqual(bytes[position..<position + length])
        guard same else { throw fault("not a JSON value") }
        position += length
        return value
    }

    private mutating func object(depth: Int) throws(MalformedInput) -> JSONValue {
        var members: [JSONValue.Member] = []
        try items(until: UInt8(ascii: "}"), of: "object") { (reader) throws(MalformedInput) in
            guard reader.current == UInt8(ascii: "\"") else { throw reader.fault("expected the name of a member") }
            let name = try reader.string()
            guard name.utf8.count <= reader.limits.nameBytes else {
                throw reader.fault("a name is longer than \(reader.limits.nameBytes) bytes")
            }
            reader.skipSpace()
            guard reader.current == UInt8(ascii: ":") else { throw reader.fault("expected a colon") }
            reader.position += 1
            reader.skipSpace()
            members.append(JSONValue.Member(name, try reader.value(depth: depth + 1)))
        }
        return .object(members)
    }

    private mutating func array(depth: Int) throws(MalformedInput) -> JSONValue {
        var elements: [JSONValue] = []
        try items(until: UInt8(ascii: "]"), of: "array") { (reader) throws(MalformedInput) in
            elements.append(try reader.value(depth: depth + 1))
        }
        return .array(elements)
    }

    /// What is between two brackets, separated by commas.
    private mutating func items(
        until end: UInt8, of what: StaticString, _ item: (inout JSONReader) throws(MalformedInput) -> Void
    ) throws(MalformedInput) {
        position += 1
        skipSpace()
        var next = current
        while next != end {
            skipSpace()
            try item(&self)
            skipSpace()
            next = current
            guard next == UInt8(ascii: ",") || next == end else {
                throw fault("expected a comma or the end of the \(what)")
            }
            if next != end { position += 1 }
        }
        position += 1
    }

    private mutating func string() throws(MalformedInput) -> String {
        position += 1
        let start = position
        while let byte = current, byte != UInt8(ascii: "\""), byte != UInt8(ascii: "\\"), byte >= 0x20 { position += 1 }
        if current == UInt8(ascii: "\"") {
            let text = try text(bytes[start..<position])
            position += 1
            return text
        }
        var decoded = Array(bytes[start..<position])
        while true {
            guard let byte = current else { throw fault("a string does not end") }
            position += 1
            switch byte {
            case UInt8(ascii: "\""): return try text(decoded[...])
            case UInt8(ascii: "\\"): try escape(into: &decoded)
            case 0..<0x20: throw fault("a control character in a string")
            default: decoded.append(byte)
            }
        }
    }

    private func text(_ utf8: ArraySlice<UInt8>) throws(MalformedInput) -> String {
        // Most is ASCII, which cannot be wrong.
        if utf8.reduce(0, |) < 0x80 { return String(decoding: utf8, as: UTF8.self) }
        guard let text = String(validating: utf8, as: UTF8.self) else { throw fault("a string is not UTF-8") }
        return text
    }

    private mutating func escape(into decoded: inout [UInt8]) throws(MalformedInput) {
        guard let byte = current else { throw fault("a string does not end") }
        position += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): decoded.append(byte)
        case UInt8(ascii: "b"): decoded.append(0x08)
        case UInt8(ascii: "f"): decoded.append(0x0C)
        case UInt8(ascii: "n"): decoded.append(0x0A)
        case UInt8(ascii: "r"): decoded.append(0x0D)
        case UInt8(ascii: "t"): decoded.append(0x09)
        case UInt8(ascii: "u"):
            var scalar = try hexadecimal()
            if 0xD800...0xDBFF ~= scalar {
                guard current == UInt8(ascii: "\\") else { throw fault("a lone surrogate") }
                position += 1
                guard current == UInt8(ascii: "u") else { throw fault("a lone surrogate") }
                position += 1
                let low = try hexadecimal()
                guard 0xDC00...0xDFFF ~= low else { throw fault("a lone surrogate") }
                scalar = 0x10000 + (scalar - 0xD800) << 10 + (low - 0xDC00)
            }
            guard let unicode = Unicode.Scalar(scalar) else { throw fault("a lone surrogate") }
            decoded.append(contentsOf: UTF8.encode(unicode) ?? UTF8.encodedReplacementCharacter)
        default: throw fault("an unknown escape")
        }
    }

    private mutating func hexadecimal() throws(MalformedInput) -> UInt32 {
        var value: UInt32 = 0
        for _ in 0..<4 {
            guard let digit = current?.hexadecimalValue else {
                throw fault("an escape needs four hexadecimal digits")
            }
            value = value << 4 | UInt32(digit)
            position += 1
        }
        return value
    }

    private mutating func number() throws(MalformedInput) -> JSONValue {
        let start = position
        if current == UInt8(ascii: "-") { position += 1 }
        let whole = digits()
        guard whole > 0, whole == 1 || bytes[position - whole] != UInt8(ascii: "0") else {
            throw fault("not a JSON value")
        }
        var isInteger = true
        if current == UInt8(ascii: ".") {
            isInteger = false
            position += 1
            guard digits() > 0 else { throw fault("not a JSON number") }
        }
        if current == UInt8(ascii: "e") || current == UInt8(ascii: "E") {
            isInteger = false
            position += 1
            if current == UInt8(ascii: "+") || current == UInt8(ascii: "-") { position += 1 }
            guard digits() > 0 else { throw fault("not a JSON number") }
        }
        guard position - start <= limits.numberBytes else {
            throw fault("a number is longer than \(limits.numberBytes) characters")
        }
        let text = String(decoding: bytes[start..<position], as: UTF8.self)
        if isInteger, let integer = Int(text) { return .integer(integer) }
        guard let number = Double(text) else { throw fault("not a JSON number") }
        return .number(number)
    }

    private mutating func digits() -> Int {
        let start = position
        while let byte = current, 0x30...0x39 ~= byte { position += 1 }
        return position - start
    }
}

extension JSONValue {
    /// Whether an object in it has two members of one name, compared by the bytes that their escapes mean: readers differ in which one counts.
    package var hasDoubledMember: Bool {
        switch self {
        case .object(let members):
            Set(members.map { UTF8Key($0.name) }).count < members.count
                || members.contains { $0.value.hasDoubledMember }
        case .array(let elements): elements.contains(where: \.hasDoubledMember)
        case .null, .bool, .integer, .number, .string: false
        }
    }

    /// The members of an object, or nil for anything else.
    package var members: [Member]? {
        if case .object(let members) = self { members } else { nil }
    }

    /// The value of the first member whose name has exactly these bytes; nil if there is none, or if the value is no object.
    package func member(_ name: String) -> JSONValue? { members?.first { $0.name.hasSameBytes(as: name) }?.value }

    package var text: String? {
        if case .string(let text) = self { text } else { nil }
    }

    package var integer: Int? {
        if case .integer(let number) = self { number } else { nil }
    }

    /// The number, with a fraction or without, or nil for anything else.
    package var double: Double? {
        if case .number(let number) = self { number } else { integer.map(Double.init) }
    }

    package var flag: Bool? {
        if case .bool(let flag) = self { flag } else { nil }
    }

    package var elements: [JSONValue]? {
        if case .array(let elements) = self { elements } else { nil }
    }
}
