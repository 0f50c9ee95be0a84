// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Formats
public import FoundationEssentials
public import Vocabulary

/// A value of a property list or of JSON, parsed once: nothing past the parser handles untyped values.
public indirect enum PropertyListValue: Sendable, Equatable {
    /// A string.
    case string(String)
    /// An integer of 64 bits.
    case integer(Int)
    /// A floating-point number.
    case real(Double)
    /// A boolean.
    case boolean(Bool)
    /// A date.
    case date(Date)
    /// Bytes.
    case data([UInt8])
    /// Values in order.
    case array([PropertyListValue])
    /// Values by key.
    case dictionary([String: PropertyListValue])

    /// The kind of the value in the words that people use, for messages: `a string`, `a dictionary`.
    public var kind: String {
        switch self {
        case .string: "a string"
        case .integer: "an integer"
        case .real: "a real number"
        case .boolean: "a boolean"
        case .date: "a date"
        case .data: "data"
        case .array: "an array"
        case .dictionary: "a dictionary"
        }
    }

    /// The members, where the value is a dictionary.
    public var members: [String: PropertyListValue]? {
        if case .dictionary(let members) = self { members } else { nil }
    }

    /// The value as Apple's evaluator reads a number as a boolean: YES is exactly 1, every other number is NO, and
    /// whatever is no number at all is absent. Source: Security, SecProtocolConfiguration.m.
    public var asAppleBoolean: Bool? {
        switch self {
        case .boolean(let flag): flag
        case .integer(let number): number == 1
        case .real(let number): number == 1
        case .string, .date, .data, .array, .dictionary: nil
        }
    }
}

extension PropertyListValue {
    /// Reads a JSON document, for example the value of NSAppTransportSecurity.
    ///
    /// - Throws: `MalformedInput` with code `malformed.json` for text that is not JSON, is nested deeper than 64 levels, gives a
    ///   member twice, has a name of over 1,024 bytes or more than 30 combining marks in a row, or holds `null`, which no property list can hold.
    public init(json bytes: [UInt8]) throws(MalformedInput) {
        // Editors on Windows put a byte order mark in front, which RFC 8259 lets a reader pass over.
        let text = Array(bytes.dropFirst(TextFileEncoding.markCount(bytes)))
        var limits = JSONReader.Limits()
        limits.depth = 64
        // As many as a property list may have.
        limits.values = 500_000
        try self.init(JSONReader.read(text, limits: limits))
    }

    private init(_ value: JSONValue) throws(MalformedInput) {
        switch value {
        case .null: throw PropertyListValue.fault("null is not allowed here; a value is expected")
        case .bool(let flag): self = .boolean(flag)
        case .integer(let number): self = .integer(number)
        case .number(let number): self = .real(number)
        case .string(let text):
            if let reason = PlistText.fault(text, isKey: false) { throw PropertyListValue.fault(reason) }
            self = .string(text)
        case .array(let values):
            var elements: [PropertyListValue] = []
            elements.reserveCapacity(values.count)
            for (index, value) in values.enumerated() {
                elements.append(try PropertyListValue(value, inside: "[\(index)]"))
            }
            self = .array(elements)
        case .object(let list):
            var members: [String: PropertyListValue] = [:]
            for member in list {
                if let reason = PlistText.fault(member.name, isKey: true) { throw PropertyListValue.fault(reason) }
                let value = try PropertyListValue(member.value, inside: member.name)
                guard members.updateValue(value, forKey: member.name) == nil else {
                    throw PropertyListValue.fault("`\(member.name)` is given twice")
                }
            }
            self = .dictionary(members)
        }
    }

    private static func fault(_ reason: String) -> MalformedInput {
        MalformedInput(code: .malformedJSON, reason: reason)
    }

    /// A fault gets the step that leads to its place on the way out, because nearly every value has none.
    private init(_ value: JSONValue, inside step: @autoclosure () -> String) throws(MalformedInput) {
        do throws(MalformedInput) {
            try self.init(value)
        } catch {
            let joint = error.place.isEmpty || error.place.utf8.first == 0x5B ? "" : "."
            throw MalformedInput(code: error.code, place: step() + joint + error.place, reason: error.reason)
        }
    }
}

extension PropertyListValue {
    /// The value as the elements of an XML property list, one a line, keys in order.
    ///
    /// A date and data stand as a comment, and nothing is written below 16 levels: no dictionary that App Transport Security reads has them.
    package func xmlLines(indentation: String, depth: Int = 0) -> [String] {
        guard depth <= 16 else { return [] }
        let pad = String(repeating: indentation, count: depth)
        switch self {
        case .dictionary(let members) where members.isEmpty: return ["\(pad)<dict/>"]
        case .dictionary(let members):
            var lines = ["\(pad)<dict>"]
            for (key, member) in members.sorted(by: { $0.key < $1.key }) {
                lines.append("\(pad)\(indentation)<key>\(Markup.text(key))</key>")
                lines += member.xmlLines(indentation: indentation, depth: depth + 1)
            }
            return lines + ["\(pad)</dict>"]
        case .array(let elements):
            let inside = elements.flatMap { $0.xmlLines(indentation: indentation, depth: depth + 1) }
            return ["\(pad)<array>"] + inside + ["\(pad)</array>"]
        case .boolean(let flag): return ["\(pad)<\(flag)/>"]
        case .integer(let number): return ["\(pad)<integer>\(number)</integer>"]
        case .real(let number): return ["\(pad)<real>\(number)</real>"]
        case .string(let text): return ["\(pad)<string>\(Markup.text(text))</string>"]
        case .date, .data: return ["\(pad)<!-- \(kind) -->"]
        }
    }
}

extension PlistDocument {
    /// An XML property list with these members, each on lines of its own.
    package static func xml(members: String) -> String {
        """
        <?xml version="1.0" encoding="UTF-8"?>
        <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
        <plist version="1.0">
        <dict>
        \(members)</dict>
        </plist>

        """
    }
}
