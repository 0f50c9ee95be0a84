// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

/// One item of the deterministic CBOR (RFC 8949, section 4.2.1) that App Attest uses.
///
/// What App Attest does not use is not representable: tags, floats, `null`, `undefined` and simple values other than the booleans.
package enum CBORItem: Hashable, Sendable {
    case unsigned(UInt64)
    /// The number `-1 - value`.
    case negative(UInt64)
    case bytes(ArraySlice<UInt8>)
    /// Equal by its bytes, not by canonical equivalence: two texts of different bytes are two keys.
    case text(String)
    case array([CBORItem])
    /// The entries in the order of the encoding; no two keys are equal.
    case map([CBOREntry])
    case boolean(Bool)
}

extension CBORItem {
    /// Compares the encodings: different items have different ones.
    package static func == (left: CBORItem, right: CBORItem) -> Bool { left.encoded == right.encoded }

    package func hash(into hasher: inout Hasher) { hasher.combine(encoded) }
}

package struct CBOREntry: Hashable, Sendable {
    package let key: CBORItem
    package let value: CBORItem

    package init(_ key: CBORItem, _ value: CBORItem) {
        self.key = key
        self.value = value
    }
}

/// Bytes that are not the CBOR that was asked for.
package struct CBORFault: Error, Sendable, Hashable {
    /// The index of the first byte that does not fit, counted from the start of the input.
    package let offset: Int
    /// One sentence without a full stop.
    package let reason: String
}

/// How much a reader takes. The defaults are far above what App Attest needs (depth 3, 2 entries, 6 kB) and far below what could hurt.
package struct CBORLimits: Sendable {
    /// The most bytes of the whole input.
    package var size = 64 << 10
    /// How many arrays and maps may enclose an item.
    package var depth = 8
    /// The most elements of one array, or entries of one map.
    package var count = 64
    /// The most bytes of a text that is a key. The longest of App Attest has 28.
    package var keyBytes = 256

    package init() {}
}

extension CBORItem {
    /// Reads exactly one item that fills the whole input.
    package init(decoding bytes: ArraySlice<UInt8>, limits: CBORLimits = CBORLimits()) throws(CBORFault) {
        var reader = CBORReader(bytes, limits: limits)
        self = try reader.item()
        guard reader.isAtEnd else { throw reader.fault("bytes follow the item that should be the whole input") }
    }

    /// Reads one item from the front and leaves what follows it in `bytes`.
    package init(readingFrom bytes: inout ArraySlice<UInt8>, limits: CBORLimits = CBORLimits()) throws(CBORFault) {
        var reader = CBORReader(bytes, limits: limits)
        self = try reader.item()
        bytes = bytes[reader.position...]
    }

    /// The value of a key in a map; nil if the item is no map or has no such key.
    package subscript(key: CBORItem) -> CBORItem? {
        guard case .map(let entries) = self else { return nil }
        return entries.first { $0.key == key }?.value
    }

    package subscript(key: String) -> CBORItem? { self[.text(key)] }

    package var byteString: ArraySlice<UInt8>? {
        if case .bytes(let bytes) = self { bytes } else { nil }
    }

    package var textString: String? {
        if case .text(let text) = self { text } else { nil }
    }

    package var entries: [CBOREntry]? {
        if case .map(let entries) = self { entries } else { nil }
    }
}
