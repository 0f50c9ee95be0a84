// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

/// Writes CBOR as devices send it: definite lengths and shortest forms. It shares no code with the reader.
package enum CBOR {
    package static func unsigned(_ number: Int) -> [UInt8] { head(0, number) }

    /// The number `-1 - value`.
    package static func negative(_ value: Int) -> [UInt8] { head(1, value) }

    package static func bytes(_ bytes: [UInt8]) -> [UInt8] { head(2, bytes.count) + bytes }

    package static func text(_ text: String) -> [UInt8] { head(3, text.utf8.count) + Array(text.utf8) }

    package static func array(_ elements: [[UInt8]]) -> [UInt8] { head(4, elements.count) + elements.flatMap { $0 } }

    /// A map of encoded keys and values.
    package static func map(_ entries: [([UInt8], [UInt8])]) -> [UInt8] {
        head(5, entries.count) + entries.flatMap { $0.0 + $0.1 }
    }

    package static func head(_ major: UInt8, _ number: Int) -> [UInt8] {
        let first = major << 5
        switch number {
        case 0..<24: return [first | UInt8(number)]
        case 24..<0x100: return [first | 24, UInt8(number)]
        case 0x100..<0x10000: return [first | 25, UInt8(number >> 8), UInt8(number & 0xFF)]
        default: return [first | 26] + UInt32(truncatingIfNeeded: number).bigEndianBytes
        }
    }
}
