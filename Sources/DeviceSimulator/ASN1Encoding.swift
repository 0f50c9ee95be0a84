// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

/// Writes ASN.1: DER, and the BER of receipts. The verifier reads with another library, so that both sides
/// cannot share a mistake.
package enum ASN1 {
    /// Tag, shortest length, content.
    package static func node(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] { [tag] + length(content.count) + content }

    package static func sequence(_ members: [UInt8]...) -> [UInt8] { node(0x30, members.flatMap { $0 }) }

    package static func set(_ members: [UInt8]...) -> [UInt8] { node(0x31, members.flatMap { $0 }) }

    /// A constructed node whose length is indefinite (BER).
    package static func indefinite(_ tag: UInt8, _ members: [UInt8]...) -> [UInt8] {
        [tag, 0x80] + members.flatMap { $0 } + [0x00, 0x00]
    }

    /// `[number]` around something, constructed, of the context-specific class.
    package static func tagged(_ number: Int, _ content: [UInt8]) -> [UInt8] {
        if number < 31 { return node(0xA0 | UInt8(number), content) }
        return [0xBF] + base128(number) + length(content.count) + content
    }

    package static func integer(_ number: Int) -> [UInt8] { integer(magnitude: number.bigEndianBytes) }

    /// A number that is not negative, big-endian.
    package static func integer(magnitude bytes: [UInt8]) -> [UInt8] {
        var bytes = Array(bytes.drop { $0 == 0 })
        if bytes.first ?? 0x80 >= 0x80 { bytes.insert(0, at: 0) }
        return node(0x02, bytes)
    }

    package static func octets(_ bytes: [UInt8]) -> [UInt8] { node(0x04, bytes) }

    package static func bits(_ bytes: [UInt8], unused: UInt8 = 0) -> [UInt8] { node(0x03, [unused] + bytes) }

    package static func text(_ text: String) -> [UInt8] { node(0x0C, Array(text.utf8)) }

    package static let null: [UInt8] = [0x05, 0x00]
    package static let yes: [UInt8] = [0x01, 0x01, 0xFF]

    /// An object identifier from its arcs.
    package static func object(_ arcs: Int...) -> [UInt8] { object(arcs) }

    package static func object(_ arcs: [Int]) -> [UInt8] {
        guard arcs.count >= 2 else { return node(0x06, []) }
        return node(0x06, ([arcs[0] * 40 + arcs[1]] + arcs.dropFirst(2)).flatMap(base128))
    }

    /// `1.2.840.113635.100` and more arcs.
    package static func apple(_ arcs: Int...) -> [UInt8] { object([1, 2, 840, 113635, 100] + arcs) }

    private static func base128(_ number: Int) -> [UInt8] {
        var bytes = [UInt8(number & 0x7F)]
        var rest = number >> 7
        while rest > 0 {
            bytes.insert(UInt8(rest & 0x7F) | 0x80, at: 0)
            rest >>= 7
        }
        return bytes
    }

    private static func length(_ count: Int) -> [UInt8] {
        switch count {
        case 0..<0x80: [UInt8(count)]
        case 0x80..<0x100: [0x81, UInt8(count)]
        case 0x100..<0x10000: [0x82, UInt8(count >> 8), UInt8(count & 0xFF)]
        default: [0x83, UInt8(count >> 16 & 0xFF), UInt8(count >> 8 & 0xFF), UInt8(count & 0xFF)]
        }
    }
}
