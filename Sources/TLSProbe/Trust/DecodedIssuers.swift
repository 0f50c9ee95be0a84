// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Vocabulary

/// What was decoded of intermediates and roots, or of their names. Leaves do not belong here.
///
/// At most `capacity` encodings of at most `largest` bytes are remembered.
final class DecodedIssuers<Value: Sendable>: Sendable {
    private let kept: BoundedCache<EncodedKey, Value>
    private let decode: @Sendable ([UInt8]) -> Value?
    private let largest = 8192

    /// - Parameter decode: nil if the encoding cannot be read, which is not remembered.
    init(capacity: Int = 128, decode: @escaping @Sendable ([UInt8]) -> Value?) {
        kept = BoundedCache(capacity: capacity)
        self.decode = decode
    }

    /// Decodes DER, or remembers what came of it before.
    subscript(der: [UInt8]) -> Value? {
        guard der.count <= largest else { return decode(der) }
        return kept.value(for: EncodedKey(der)) { decode(der) }
    }

    /// Encodings that are remembered now.
    var count: Int { kept.count }
}
