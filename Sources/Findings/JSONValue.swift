// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

/// A JSON document that keeps the order of its members, so that every report is byte-for-byte repeatable.
public enum JSONValue: Sendable, Equatable {
    case null
    case bool(Bool)
    case integer(Int)
    case number(Double)
    case string(String)
    case array([JSONValue])
    case object([Member])

    /// One member of an object.
    public struct Member: Sendable, Equatable {
        public let name: String
        public let value: JSONValue

        public init(_ name: String, _ value: JSONValue) {
            self.name = name
            self.value = value
        }
    }

    /// The string, or `null` for nil.
    public static func optional(_ text: String?) -> JSONValue { text.map(JSONValue.string) ?? .null }

    /// The integer, or `null` for nil.
    public static func optional(_ number: Int?) -> JSONValue { number.map(JSONValue.integer) ?? .null }
}

extension JSONValue: ExpressibleByStringLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
    ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral, ExpressibleByNilLiteral
{
    public init(stringLiteral value: String) { self = .string(value) }
    public init(booleanLiteral value: Bool) { self = .bool(value) }
    public init(integerLiteral value: Int) { self = .integer(value) }
    public init(arrayLiteral elements: JSONValue...) { self = .array(elements) }
    public init(dictionaryLiteral elements: (String, JSONValue)...) {
        self = .object(elements.map { Member($0.0, $0.1) })
    }
    public init(nilLiteral: ()) { self = .null }
}

extension JSONValue {
    /// The document as text: indented by two spaces for people, or on one line for `jsonl`.
    public func rendered(pretty: Bool = true) -> String {
        var text = ""
        write(into: &text, pretty: pretty, depth: 0)
        return text
    }

    private func write(into text: inout String, pretty: Bool, depth: Int) {
        switch self {
        case .null: text += "null"
        case .bool(let flag): text += flag ? "true" : "false"
        case .integer(let number): text += String(number)
        case .number(let number): text += number.isFinite ? String(number) : "null"
        case .string(let string): JSONValue.write(string, into: &text)
        case .array(let elements):
            JSONValue.write(elements, "[", "]", into: &text, pretty: pretty, depth: depth) { element, text in
                element.write(into: &text, pretty: pretty, depth: depth + 1)
            }
        case .object(let members):
            JSONValue.write(members, "{", "}", into: &text, pretty: pretty, depth: depth) { member, text in
                JSONValue.write(member.name, into: &text)
                text += pretty ? ": " : ":"
                member.value.write(into: &text, pretty: pretty, depth: depth + 1)
            }
        }
    }

    private static func write<Element>(
        _ elements: [Element],
        _ open: String,
        _ close: String,
        into text: inout String,
        pretty: Bool,
        depth: Int,
        each: (Element, inout String) -> Void
    ) {
        text += open
        for (index, element) in elements.enumerated() {
            if index > 0 { text += "," }
            if pretty { text += "\n" + String(repeating: "  ", count: depth + 1) }
            each(element, &text)
        }
        if pretty, !elements.isEmpty { text += "\n" + String(repeating: "  ", count: depth) }
        text += close
    }

    private static func write(_ string: String, into text: inout String) {
        text += "\""
        for scalar in string.unicodeScalars {
            switch scalar {
            case "\"": text += "\\\""
            case "\\": text += "\\\\"
            case "\n": text += "\\n"
            case "\r": text += "\\r"
            case "\t": text += "\\t"
            case "\u{0}"..."\u{1F}", "\u{7F}", "\u{2028}", "\u{2029}":
                let digits = String(scalar.value, radix: 16)
                text += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: text.unicodeScalars.append(scalar)
            }
        }
        text += "\""
    }
}
