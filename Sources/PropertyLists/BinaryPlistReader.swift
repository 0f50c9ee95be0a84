// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Vocabulary

/// Reads the binary form (`bplist00`) with every offset checked and a budget for shared objects.
///
/// An object may be named from many places, so a file of a few hundred bytes can describe a tree with billions of
/// values. Values are counted at each place where they appear, and a container may not contain itself.
struct BinaryPlistReader {
    static let magic = Array("bplist00".utf8)

    private let bytes: [UInt8]
    private let offsets: [Int]
    private let referenceSize: Int
    private let end: Int
    private let valueLimit: Int
    private var values = 0
    private var textBytes = 0

    static func read(_ bytes: [UInt8], values: Int = PlistLimits.values) throws(MalformedInput) -> PlistDocument {
        var reader = try BinaryPlistReader(bytes, values: values)
        let top = try integer(bytes, at: bytes.count - 16, size: 8)
        let root = try reader.object(top, depth: 0)
        return PlistDocument(root: root, format: .binary)
    }

    private init(_ bytes: [UInt8], values: Int) throws(MalformedInput) {
        valueLimit = values
        guard bytes.count >= 8 + 1 + 32 else { throw .plist("", "is a binary property list that is cut off") }
        let trailer = bytes.count - 32
        let offsetSize = Int(bytes[trailer + 6])
        referenceSize = Int(bytes[trailer + 7])
        self.bytes = bytes
        end = trailer
        guard (1...8).contains(offsetSize), (1...8).contains(referenceSize) else {
            throw .plist("offset \(trailer + 6)", "is a binary property list with a damaged trailer")
        }
        let count = try BinaryPlistReader.integer(bytes, at: trailer + 8, size: 8)
        let table = try BinaryPlistReader.integer(bytes, at: trailer + 24, size: 8)
        guard count > 0, count <= PlistLimits.values, table >= 8, table <= trailer,
            count <= (trailer - table) / offsetSize
        else {
            throw .plist("offset \(trailer + 8)", "is a binary property list whose table does not fit into the file")
        }
        var offsets: [Int] = []
        offsets.reserveCapacity(count)
        for index in 0..<count {
            let offset = try BinaryPlistReader.integer(bytes, at: table + index * offsetSize, size: offsetSize)
            guard offset >= 8, offset < table else {
                throw .plist("offset \(table + index * offsetSize)", "points outside the file")
            }
            offsets.append(offset)
        }
        self.offsets = offsets
    }

    private static func integer(_ bytes: [UInt8], at start: Int, size: Int) throws(MalformedInput) -> Int {
        guard start >= 0, size <= 8, start <= bytes.count - size else {
            throw .plist("offset \(start)", "is a binary property list that is cut off")
        }
        var value: UInt64 = 0
        for byte in bytes[start..<(start + size)] { value = value << 8 | UInt64(byte) }
        guard let result = Int(exactly: value) else {
            throw .plist("offset \(start)", "has a number that is too large")
        }
        return result
    }

    private func slice(_ start: Int, _ count: Int) throws(MalformedInput) -> ArraySlice<UInt8> {
        guard count >= 0, start >= 0, start <= end, count <= end - start else {
            throw .plist("offset \(start)", "has a value that reaches past the end of the file")
        }
        return bytes[start..<(start + count)]
    }

    /// The number of elements after a marker, and where they start.
    private func extent(_ offset: Int) throws(MalformedInput) -> (count: Int, start: Int) {
        let low = Int(bytes[offset] & 0x0F)
        guard low == 0x0F else { return (low, offset + 1) }
        let marker = try slice(offset + 1, 1).first ?? 0
        guard marker & 0xF0 == 0x10, marker & 0x0F <= 3 else {
            throw .plist("offset \(offset + 1)", "has a length that is not a number")
        }
        let size = 1 << Int(marker & 0x0F)
        _ = try slice(offset + 2, size)
        return (try BinaryPlistReader.integer(bytes, at: offset + 2, size: size), offset + 2 + size)
    }

    private mutating func object(_ index: Int, depth: Int) throws(MalformedInput) -> PlistNode {
        guard offsets.indices.contains(index) else { throw .plist("object \(index)", "is not in the file") }
        let offset = offsets[index]
        guard depth < PlistLimits.depth else {
            throw .plist("offset \(offset)", "is nested deeper than \(PlistLimits.depth) levels, or contains itself")
        }
        values += 1
        guard values <= valueLimit else { throw tooMany(offset) }
        let marker = bytes[offset]
        switch marker >> 4 {
        case 0x0:
            guard marker == 0x08 || marker == 0x09 else { break }
            return PlistNode(.boolean(marker == 0x09))
        case 0x1: return PlistNode(try number(offset, size: Int(marker & 0x0F)))
        case 0x2:
            if marker & 0x0F == 2 {
                let bits = try slice(offset + 1, 4).reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
                return PlistNode(.real(Double(Float(bitPattern: bits))))
            }
            guard marker & 0x0F == 3 else { break }
            return PlistNode(.real(try double(offset + 1)))
        case 0x3:
            guard marker == 0x33 else { break }
            return PlistNode(.date(Date(timeIntervalSinceReferenceDate: try double(offset + 1))))
        case 0x4:
            let (count, start) = try extent(offset)
            try spend(count, at: offset)
            return PlistNode(.data(Array(try slice(start, count))))
        case 0x5, 0x6: return PlistNode(.string(try text(offset, isKey: false)))
        case 0xA, 0xC:
            let (count, start) = try extent(offset)
            try expect(count, each: 1, from: start)
            var elements: [PlistNode] = []
            elements.reserveCapacity(count)
            for place in 0..<count {
                elements.append(try object(reference(start, place), depth: depth + 1))
            }
            return PlistNode(.array(elements))
        case 0xD: return PlistNode(.dictionary(try members(offset, depth: depth)))
        default: break
        }
        throw .plist("offset \(offset)", "has a value of an unknown type")
    }

    private mutating func members(_ offset: Int, depth: Int) throws(MalformedInput) -> [PlistMember] {
        let (count, start) = try extent(offset)
        try expect(count, each: 2, from: start)
        var members: [PlistMember] = []
        members.reserveCapacity(count)
        for place in 0..<count {
            let name = try key(reference(start, place), of: offset)
            members.append(PlistMember(name, try object(reference(start, count + place), depth: depth + 1)))
        }
        return members
    }

    /// The text of a key, which must be a string and is no value.
    private mutating func key(_ index: Int, of dictionary: Int) throws(MalformedInput) -> String {
        guard offsets.indices.contains(index) else { throw .plist("object \(index)", "is not in the file") }
        let offset = offsets[index]
        guard bytes[offset] >> 4 == 0x5 || bytes[offset] >> 4 == 0x6 else {
            throw .plist("offset \(dictionary)", "has a key that is not a string")
        }
        return try text(offset, isKey: true)
    }

    /// Makes sure, before anything is allocated, that a container lies in the file and that its values are within the limit.
    private func expect(_ count: Int, each references: Int, from start: Int) throws(MalformedInput) {
        let size = references * referenceSize
        guard count <= (end - 8) / size else {
            throw .plist("offset \(start)", "has a container that reaches past the end of the file")
        }
        _ = try slice(start, count * size)
        guard count <= valueLimit - values else { throw tooMany(start) }
    }

    private func tooMany(_ offset: Int) -> MalformedInput {
        .plist("offset \(offset)", "has more than \(valueLimit) values")
    }

    /// A reference of a container whose references ``expect(_:each:from:)`` found in the file.
    private func reference(_ start: Int, _ place: Int) throws(MalformedInput) -> Int {
        try BinaryPlistReader.integer(bytes, at: start + place * referenceSize, size: referenceSize)
    }

    private func double(_ start: Int) throws(MalformedInput) -> Double {
        Double(bitPattern: try slice(start, 8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) })
    }

    private func number(_ offset: Int, size exponent: Int) throws(MalformedInput) -> PlistNode.Value {
        guard exponent <= 4 else { throw .plist("offset \(offset)", "has a number of an unknown size") }
        let digits = try slice(offset + 1, 1 << exponent)
        // Eight bytes are signed, fewer are not; sixteen hold an unsigned number of eight.
        let value = digits.suffix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        if exponent == 3 { return .integer(Int(Int64(bitPattern: value))) }
        if let small = Int(exactly: value) { return .integer(small) }
        return .real(Double(value))
    }

    private mutating func text(_ offset: Int, isKey: Bool) throws(MalformedInput) -> String {
        let (count, start) = try extent(offset)
        let isWide = bytes[offset] >> 4 == 0x6
        guard count <= end else { throw .plist("offset \(offset)", "has a text that reaches past the end of the file") }
        // A unit of UTF-16 takes up to three bytes of UTF-8.
        try spend(isWide ? count * 3 : count, at: offset)
        let raw = try slice(start, isWide ? count * 2 : count)
        let text: String
        if isWide {
            let units = (0..<count).lazy.map { unit in
                UInt16(raw[raw.startIndex + unit * 2]) << 8 | UInt16(raw[raw.startIndex + unit * 2 + 1])
            }
            text = String(decoding: units, as: UTF16.self)
        } else {
            text = String(decoding: raw, as: UTF8.self)
        }
        if let fault = PlistText.fault(text, isKey: isKey) { throw .plist("offset \(offset)", fault) }
        return text
    }

    /// Counts the bytes of texts and data at each place where they appear.
    private mutating func spend(_ count: Int, at offset: Int) throws(MalformedInput) {
        guard count >= 0, count <= end * 3, textBytes + count <= 4 * PlistLimits.bytes else {
            throw .plist("offset \(offset)", "expands to more text than any Info.plist has")
        }
        textBytes += count
    }
}
