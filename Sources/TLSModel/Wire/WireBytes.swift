// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

/// Writes the big-endian, length-prefixed structures of TLS.
package struct WireWriter: Sendable {
    package private(set) var bytes: [UInt8] = []

    package init() {}

    package mutating func write(_ more: [UInt8]) { bytes.append(contentsOf: more) }
    package mutating func write(_ more: ArraySlice<UInt8>) { bytes.append(contentsOf: more) }
    package mutating func write8(_ value: UInt8) { bytes.append(value) }
    package mutating func write16(_ value: UInt16) {
        bytes.append(UInt8(value >> 8))
        bytes.append(UInt8(value & 255))
    }

    /// Writes what `body` writes, after its length in `size` bytes.
    package mutating func prefixed(_ size: Int, _ body: (inout WireWriter) -> Void) {
        let start = bytes.count
        bytes.append(contentsOf: repeatElement(0, count: size))
        body(&self)
        let length = bytes.count - start - size
        for index in 0..<size {
            bytes[start + index] = UInt8(truncatingIfNeeded: length >> (8 * (size - 1 - index)))
        }
    }
}

/// Reads the structures of TLS; nil wherever the bytes end too early.
package struct WireReader: Sendable {
    package private(set) var rest: ArraySlice<UInt8>

    package init(_ bytes: [UInt8]) { rest = bytes[...] }
    package init(_ bytes: ArraySlice<UInt8>) { rest = bytes }

    package var isEmpty: Bool { rest.isEmpty }

    package mutating func read8() -> UInt8? { rest.popFirst() }

    package mutating func read16() -> UInt16? {
        guard let bytes = read(2) else { return nil }
        return bytes.reduce(0) { $0 << 8 | UInt16($1) }
    }

    package mutating func read(_ count: Int) -> ArraySlice<UInt8>? {
        guard count >= 0, rest.count >= count else { return nil }
        let bytes = rest.prefix(count)
        rest = rest.dropFirst(count)
        return bytes
    }

    /// A vector after its length in `size` bytes.
    package mutating func vector(_ size: Int) -> ArraySlice<UInt8>? {
        guard let length = read(size)?.reduce(0, { $0 << 8 | Int($1) }) else { return nil }
        return read(length)
    }

    /// An extension block: its entries by number. Nil if it is malformed, has an extension twice, or more than 64.
    package static func extensions(_ block: ArraySlice<UInt8>) -> [UInt16: ArraySlice<UInt8>]? {
        var reader = WireReader(block)
        var entries: [UInt16: ArraySlice<UInt8>] = [:]
        while !reader.isEmpty {
            guard let type = reader.read16(), let body = reader.vector(2), entries[type] == nil, entries.count < 64
            else { return nil }
            entries[type] = body
        }
        return entries
    }
}
