// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

public import Findings
import Foundation

extension PropertyListValue {
    /// Reads an XML or binary property list by Foundation, without positions.
    ///
    /// - Throws: `MalformedInput` with code `malformed.plist` where it is none, or is nested deeper than 64 levels.
    public init(propertyList bytes: [UInt8]) throws(MalformedInput) {
        guard !bytes.isEmpty else { throw MalformedInput(code: "malformed.plist", reason: "the file is empty") }
        let object: Any
        do {
            object = try PropertyListSerialization.propertyList(from: Data(bytes), options: [], format: nil)
        } catch {
            throw MalformedInput(code: "malformed.plist", reason: "is not a property list in XML or binary form")
        }
        guard let value = PropertyListValue(foundation: object, depth: 0) else {
            throw MalformedInput(
                code: "malformed.plist",
                reason: "holds a value that no Info.plist can hold, or is nested too deeply"
            )
        }
        self = value
    }

    private init?(foundation object: Any, depth: Int) {
        guard depth < 64 else { return nil }
        switch object {
        case let text as String: self = .string(text)
        case let members as [String: Any]:
            var values: [String: PropertyListValue] = [:]
            for (key, member) in members {
                guard let value = PropertyListValue(foundation: member, depth: depth + 1) else { return nil }
                values[key] = value
            }
            self = .dictionary(values)
        case let elements as [Any]:
            var values: [PropertyListValue] = []
            for element in elements {
                guard let value = PropertyListValue(foundation: element, depth: depth + 1) else { return nil }
                values.append(value)
            }
            self = .array(values)
        case let date as Date: self = .date(date)
        case let data as Data: self = .data([UInt8](data))
        case let number as NSNumber: self = PropertyListValue(number)
        default: return nil
        }
    }

    private init(_ number: NSNumber) {
        switch UInt8(bitPattern: Int8(number.objCType.pointee)) {
        case UInt8(ascii: "B"), UInt8(ascii: "c"): self = .boolean(number.boolValue)
        case UInt8(ascii: "d"), UInt8(ascii: "f"): self = .real(number.doubleValue)
        default: self = .integer(number.intValue)
        }
    }
}
