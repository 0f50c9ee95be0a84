// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

/// Writes TLS and DER for hostile servers: lengths may lie, and nothing here shares code with the prober.
package enum Bytes {
    package static func n16(_ value: Int) -> [UInt8] {
        [UInt8(truncatingIfNeeded: value >> 8), UInt8(truncatingIfNeeded: value)]
    }

    package static func n24(_ value: Int) -> [UInt8] { [UInt8(truncatingIfNeeded: value >> 16)] + n16(value) }

    /// A vector after its length in one, two or three bytes; `lie` is added to the length.
    package static func vector(_ size: Int, _ body: [UInt8], lie: Int = 0) -> [UInt8] {
        Array(n24(body.count + lie).suffix(size)) + body
    }

    /// One record, whatever its length.
    package static func record(_ type: UInt8, _ body: [UInt8], version: Int = 0x0303, lie: Int = 0) -> [UInt8] {
        [type] + n16(version) + n16(body.count + lie) + body
    }

    /// A handshake message in as many records as it takes.
    package static func records(_ message: [UInt8], size: Int = 16_384) -> [UInt8] {
        stride(from: 0, to: max(1, message.count), by: size).flatMap { start in
            record(22, Array(message[min(start, message.count)..<min(start + size, message.count)]))
        }
    }

    package static func message(_ type: UInt8, _ body: [UInt8], lie: Int = 0) -> [UInt8] {
        [type] + n24(body.count + lie) + body
    }

    package static func item(_ type: Int, _ body: [UInt8], lie: Int = 0) -> [UInt8] {
        n16(type) + vector(2, body, lie: lie)
    }

    package static func alert(_ level: UInt8, _ description: UInt8) -> [UInt8] { record(21, [level, description]) }
}

/// Writes DER (X.690).
package enum DER {
    package static func value(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
        let count = content.count
        let length: [UInt8] =
            switch count {
            case ..<0x80: [UInt8(count)]
            case ..<0x100: [0x81, UInt8(count)]
            case ..<0x1_0000: [0x82] + Bytes.n16(count)
            default: [0x83] + Bytes.n24(count)
            }
        return [tag] + length + content
    }

    package static func sequence(_ members: [UInt8]...) -> [UInt8] { value(0x30, members.flatMap(\.self)) }
    package static func set(_ members: [UInt8]...) -> [UInt8] { value(0x31, members.flatMap(\.self)) }
    package static func octets(_ content: [UInt8]) -> [UInt8] { value(0x04, content) }
    package static func bits(_ content: [UInt8]) -> [UInt8] { value(0x03, [0] + content) }
    package static func text(_ text: String) -> [UInt8] { value(0x0C, Array(text.utf8)) }

    /// An object identifier of arcs under 2^28.
    package static func identifier(_ arcs: Int...) -> [UInt8] {
        var content = [UInt8(arcs[0] * 40 + arcs[1])]
        for arc in arcs.dropFirst(2) {
            var groups = [UInt8(arc & 0x7F)]
            var rest = arc >> 7
            while rest > 0 {
                groups.insert(UInt8(rest & 0x7F) | 0x80, at: 0)
                rest >>= 7
            }
            content += groups
        }
        return value(0x06, content)
    }

    /// A name with one common name.
    package static func name(_ common: String) -> [UInt8] {
        sequence(set(sequence(identifier(2, 5, 4, 3), text(common))))
    }

    /// One extension of a certificate.
    package static func item(_ identifier: [UInt8], critical: Bool = false, _ content: [UInt8]) -> [UInt8] {
        sequence(identifier, critical ? [1, 1, 0xFF] : [], octets(content))
    }
}
