// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Vocabulary

/// DER bytes as the key of a dictionary: an array hashes one byte after the other, which takes longer than reading the certificate.
struct EncodedKey: Hashable, Sendable {
    let der: [UInt8]

    init(_ der: [UInt8]) { self.der = der }

    func hash(into hasher: inout Hasher) {
        // Safe: the buffer is read while it is lent.
        unsafe der.withUnsafeBytes { unsafe hasher.combine(bytes: $0) }
    }
}

extension BoundedCache where Key == EncodedKey {
    /// What is known of encodings of intermediates and roots. Leaves do not belong here.
    static func issuers() -> BoundedCache { BoundedCache(capacity: 128) }

    /// The value of an encoding, remembered or made; one of more than 8,192 bytes is not remembered.
    func value(of der: [UInt8], make: () -> Value?) -> Value? {
        der.count <= 8192 ? value(for: EncodedKey(der), make: make) : make()
    }
}
