// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import NIOConcurrencyHelpers

/// What was decoded of intermediates and roots, or of their names, which the chains of many servers share. Leaves do not belong here.
///
/// At most `capacity` encodings of at most `largest` bytes; when it is full, everything is forgotten at once.
final class DecodedIssuers<Value: Sendable>: Sendable {
    private let kept = NIOLockedValueBox<[EncodedKey: Value]>([:])
    private let decode: @Sendable ([UInt8]) -> Value?
    private let capacity: Int
    private let largest = 8192

    /// - Parameter decode: nil where the encoding cannot be read, which is not remembered.
    init(capacity: Int = 128, decode: @escaping @Sendable ([UInt8]) -> Value?) {
        self.capacity = capacity
        self.decode = decode
    }

    /// Decodes DER, or remembers what came of it before.
    subscript(der: [UInt8]) -> Value? {
        guard der.count <= largest else { return decode(der) }
        let key = EncodedKey(der)
        if let known = kept.withLockedValue({ $0[key] }) { return known }
        guard let value = decode(der) else { return nil }
        kept.withLockedValue { kept in
            if kept.count >= capacity { kept.removeAll(keepingCapacity: true) }
            kept[key] = value
        }
        return value
    }

    /// Encodings that are remembered now.
    var count: Int { kept.withLockedValue { $0.count } }
}
