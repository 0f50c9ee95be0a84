// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import FoundationEssentials
import Vocabulary

/// A value of a property list together with the bytes that spell it, so that a finding can point at them.
package struct PlistNode: Sendable {
    package let value: Value
    /// The bytes of the whole element in ``PlistDocument/source``; empty if the document is binary.
    package let range: Range<Int>

    package init(_ value: Value, range: Range<Int> = 0..<0) {
        self.value = value
        self.range = range
    }

    /// The types that a property list has.
    package indirect enum Value: Sendable {
        case string(String)
        /// `<integer>`, 64 bits.
        case integer(Int)
        case real(Double)
        case boolean(Bool)
        case date(Date)
        /// `<data>`, decoded.
        case data([UInt8])
        case array([PlistNode])
        /// `<dict>`, in the order of the file.
        case dictionary([PlistMember])
    }
}

/// A key with its value. A dictionary keeps its members in the order of the file, duplicates included.
package struct PlistMember: Sendable {
    package let key: String
    /// The bytes of the whole `<key>` element; empty if the document is binary.
    package let keyRange: Range<Int>
    package let node: PlistNode

    package init(_ key: String, keyRange: Range<Int> = 0..<0, _ node: PlistNode) {
        self.key = key
        self.keyRange = keyRange
        self.node = node
    }

    /// The bytes from the start of the key to the end of the value.
    package var range: Range<Int> { keyRange.lowerBound..<max(keyRange.lowerBound, node.range.upperBound) }
}

extension PlistNode {
    package var members: [PlistMember]? {
        if case .dictionary(let members) = value { members } else { nil }
    }

    package var elements: [PlistNode]? {
        if case .array(let elements) = value { elements } else { nil }
    }

    package var string: String? {
        if case .string(let text) = value { text } else { nil }
    }

    /// The member that counts for a key: of duplicates the last one, as in Apple's parser.
    package func member(_ key: String) -> PlistMember? {
        guard let members, let index = members.indices.last(where: { members[$0].key.hasSameBytes(as: key) }) else {
            return nil
        }
        return members[index]
    }

    /// The value of a key, of duplicates the last one.
    package subscript(key: String) -> PlistNode? { member(key)?.node }

    /// The name of the type as the XML form spells it.
    package var typeName: String {
        switch value {
        case .string: "string"
        case .integer: "integer"
        case .real: "real"
        case .boolean: "boolean"
        case .date: "date"
        case .data: "data"
        case .array: "array"
        case .dictionary: "dictionary"
        }
    }

    /// The value as ``PropertyListValue/asAppleBoolean`` reads it.
    package var asAppleBoolean: Bool? {
        members == nil && elements == nil ? propertyListValue.asAppleBoolean : nil
    }

    /// The same value without places. Of duplicate keys the last one stays.
    package var propertyListValue: PropertyListValue {
        switch value {
        case .string(let text): .string(text)
        case .integer(let number): .integer(number)
        case .real(let number): .real(number)
        case .boolean(let flag): .boolean(flag)
        case .date(let date): .date(date)
        case .data(let bytes): .data(bytes)
        case .array(let elements): .array(elements.map(\.propertyListValue))
        case .dictionary(let members):
            .dictionary(Dictionary(members.map { ($0.key, $0.node.propertyListValue) }, uniquingKeysWith: { $1 }))
        }
    }
}
