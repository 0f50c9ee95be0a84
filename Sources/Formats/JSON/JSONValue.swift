// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Vocabulary

/// A JSON document that keeps the order of its members, so that every report is byte-for-byte repeatable.
package enum JSONValue: Sendable, Equatable {
    case null
    case bool(Bool)
    /// A number without fraction.
    case integer(Int)
    /// A number with a fraction.
    case number(Double)
    case string(String)
    case array([JSONValue])
    /// Members in the order in which they are written.
    case object([Member])

    package struct Member: Sendable, Equatable {
        package let name: String
        package let value: JSONValue

        package init(_ name: String, _ value: JSONValue) {
            self.name = name
            self.value = value
        }
    }

    /// An object without the members whose value is `.none`; a `nil` that is written out may be a `null`, which stays.
    package static func omittingNone(_ members: KeyValuePairs<String, JSONValue?>) -> JSONValue {
        .object(members.compactMap { name, value in value.map { Member(name, $0) } })
    }

    /// Nil for no elements.
    package static func unlessEmpty(_ elements: [JSONValue]) -> JSONValue? {
        elements.isEmpty ? .none : .array(elements)
    }

    /// The string, or `null` for nil.
    package static func optional(_ text: String?) -> JSONValue { text.map(JSONValue.string) ?? .null }

    /// The integer, or `null` for nil.
    package static func optional(_ number: Int?) -> JSONValue { number.map(JSONValue.integer) ?? .null }
}

extension JSONValue: ExpressibleByStringLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
    ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral, ExpressibleByNilLiteral
{
    package init(stringLiteral value: String) { self = .string(value) }
    package init(booleanLiteral value: Bool) { self = .bool(value) }
    package init(integerLiteral value: Int) { self = .integer(value) }
    package init(arrayLiteral elements: JSONValue...) { self = .array(elements) }
    package init(dictionaryLiteral elements: (String, JSONValue)...) {
        self = .object(elements.map { Member($0.0, $0.1) })
    }
    package init(nilLiteral: ()) { self = .null }
}

extension JSONValue {
    /// The document as text: indented by two spaces for people, or on one line for `jsonl`.
    package func rendered(pretty: Bool = true) -> String { String(decoding: encoded(pretty: pretty), as: UTF8.self) }

    /// The same as UTF-8.
    package func encoded(pretty: Bool = true) -> [UInt8] {
        var text: [UInt8] = []
        text.reserveCapacity(4096)
        write(into: &text, pretty: pretty, depth: 0)
        return text
    }

    private func write(into text: inout [UInt8], pretty: Bool, depth: Int) {
        switch self {
        case .null: text += "null".utf8
        case .bool(let flag): text += (flag ? "true" : "false").utf8
        case .integer(let number): text += String(number).utf8
        case .number(let number): text += (number.isFinite ? String(number) : "null").utf8
        case .string(let string): JSONValue.write(string, into: &text)
        case .array(let elements):
            JSONValue.write(elements, "[", "]", into: &text, pretty: pretty, depth: depth) { element, text in
                element.write(into: &text, pretty: pretty, depth: depth + 1)
            }
        case .object(let members):
            JSONValue.write(members, "{", "}", into: &text, pretty: pretty, depth: depth) { member, text in
                JSONValue.write(member.name, into: &text)
                text += (pretty ? ": " : ":").utf8
                member.value.write(into: &text, pretty: pretty, depth: depth + 1)
            }
        }
    }

    private static func write<Element>(
        _ elements: [Element], _ open: Unicode.Scalar, _ close: Unicode.Scalar, into text: inout [UInt8], pretty: Bool,
        depth: Int, each: (Element, inout [UInt8]) -> Void
    ) {
        text.append(UInt8(ascii: open))
        for (index, element) in elements.enumerated() {
            if index > 0 { text.append(UInt8(ascii: ",")) }
            if pretty { newLine(into: &text, depth: depth + 1) }
            each(element, &text)
        }
        if pretty, !elements.isEmpty { newLine(into: &text, depth: depth) }
        text.append(UInt8(ascii: close))
    }

    private static func newLine(into text: inout [UInt8], depth: Int) {
        text.append(0x0A)
        text.append(contentsOf: repeatElement(0x20, count: depth * 2))
    }

    /// Only ASCII that JSON or a terminal gives a meaning, scalars that steer a terminal, and marks that a build machine would obey are escaped.
    private static func write(_ string: String, into text: inout [UInt8]) {
        text.append(0x22)
        // Most text needs no escape. Safe: the buffer is read while it is lent.
        let isPlain = unsafe string.utf8.withContiguousStorageIfAvailable { bytes in
            unsafe bytes.allSatisfy { (0x20...0x7E).contains($0) && $0 != 0x22 && $0 != 0x23 && $0 != 0x5C }
        }
        if isPlain ?? false {
            text.append(contentsOf: string.utf8)
        } else {
            string.eachScalar { scalar, isMark in
                // No line begins inside a string.
                if isMark, scalar == "#" { text += "\\u0023".utf8 } else { write(scalar, into: &text) }
            }
        }
        text.append(0x22)
    }

    private static func write(_ scalar: Unicode.Scalar, into text: inout [UInt8]) {
        switch scalar {
        case "\"": text += "\\\"".utf8
        case "\\": text += "\\\\".utf8
        case "\n": text += "\\n".utf8
        case "\r": text += "\\r".utf8
        case "\t": text += "\\t".utf8
        case _ where scalar.steersTerminal:
            // All of them lie below U+10000.
            let digits = String(scalar.value, radix: 16)
            text += "\\u\(String(repeating: "0", count: max(0, 4 - digits.utf8.count)))\(digits)".utf8
        default: text.append(contentsOf: UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter)
        }
    }
}
