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
    /// - Throws: `MalformedInput` with code `malformed.json` for text that is not JSON, is nested deeper than 64 levels,
    ///   or holds `null`, which no property list can hold.
    public init(json bytes: [UInt8]) throws(MalformedInput) {
        guard PropertyListValue.nesting(of: bytes) <= 64 else {
            throw MalformedInput(code: "malformed.json", reason: "is nested deeper than 64 levels")
        }
        do {
            self = try JSONDecoder().decode(Decoded.self, from: Data(bytes)).value
        } catch let DecodingError.dataCorrupted(context) where !context.codingPath.isEmpty {
            let path = context.codingPath.map(\.stringValue).joined(separator: ".")
            throw MalformedInput(code: "malformed.json", place: path, reason: context.debugDescription)
        } catch {
            throw MalformedInput(code: "malformed.json", reason: "is not a JSON document")
        }
    }

    /// The deepest bracket, counted outside strings.
    private static func nesting(of bytes: [UInt8]) -> Int {
        var depth = 0
        var deepest = 0
        var inString = false
        var escaped = false
        for byte in bytes {
            if inString {
                if escaped {
                    escaped = false
                } else if byte == 0x5C {
                    escaped = true
                } else if byte == 0x22 {
                    inString = false
                }
                continue
            }
            switch byte {
            case 0x22: inString = true
            case 0x5B, 0x7B:
                depth += 1
                deepest = max(deepest, depth)
            case 0x5D, 0x7D: depth -= 1
            default: break
            }
        }
        return deepest
    }

    private struct Decoded: Decodable {
        let value: PropertyListValue

        init(from decoder: any Decoder) throws {
            if let keyed = try? decoder.container(keyedBy: AnyKey.self) {
                var members: [String: PropertyListValue] = [:]
                for key in keyed.allKeys {
                    members[key.stringValue] = try keyed.decode(Decoded.self, forKey: key).value
                }
                value = .dictionary(members)
                return
            }
            if var list = try? decoder.unkeyedContainer() {
                var elements: [PropertyListValue] = []
                while !list.isAtEnd { elements.append(try list.decode(Decoded.self).value) }
                value = .array(elements)
                return
            }
            let single = try decoder.singleValueContainer()
            if let flag = try? single.decode(Bool.self) {
                value = .boolean(flag)
            } else if let number = try? single.decode(Int.self) {
                value = .integer(number)
            } else if let number = try? single.decode(Double.self) {
                value = .real(number)
            } else if let text = try? single.decode(String.self) {
                value = .string(text)
            } else {
                throw DecodingError.dataCorrupted(
                    .init(codingPath: decoder.codingPath, debugDescription: "null stands where a value is expected")
                )
            }
        }
    }

    private struct AnyKey: CodingKey {
        let stringValue: String
        let intValue: Int? = nil
        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }
}
