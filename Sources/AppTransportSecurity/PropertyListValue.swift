// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

public import Findings
public import Foundation

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
    ///   member twice, or holds `null`, which no property list can hold.
    public init(json bytes: [UInt8]) throws(MalformedInput) {
        // Editors on Windows put a byte order mark in front, which RFC 8259 lets a reader pass over.
        let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
        let text = bytes.starts(with: mark) ? Array(bytes.dropFirst(mark.count)) : bytes
        try self.init(JSONReader.read(text, depthLimit: 64), at: "")
    }

    private init(_ value: JSONValue, at place: String) throws(MalformedInput) {
        func fault(_ reason: String) -> MalformedInput {
            MalformedInput(code: "malformed.json", place: place, reason: reason)
        }
        switch value {
        case .null: throw fault("null stands where a value is expected")
        case .bool(let flag): self = .boolean(flag)
        case .integer(let number): self = .integer(number)
        case .number(let number): self = .real(number)
        case .string(let text): self = .string(text)
        case .array(let values):
            var elements: [PropertyListValue] = []
            for (index, value) in values.enumerated() {
                elements.append(try PropertyListValue(value, at: "\(place)[\(index)]"))
            }
            self = .array(elements)
        case .object(let list):
            var members: [String: PropertyListValue] = [:]
            for member in list {
                let value = try PropertyListValue(
                    member.value,
                    at: place.isEmpty ? member.name : "\(place).\(member.name)"
                )
                guard members.updateValue(value, forKey: member.name) == nil else {
                    throw fault("`\(member.name)` is given twice")
                }
            }
            self = .dictionary(members)
        }
    }
}
