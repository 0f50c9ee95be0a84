// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

/// DER bytes as the key of a dictionary: an array hashes one byte after the other, which takes longer than reading the certificate.
struct EncodedKey: Hashable, Sendable {
    let der: [UInt8]

    init(_ der: [UInt8]) { self.der = der }

    func hash(into hasher: inout Hasher) {
        // Safe: the buffer is read while it is lent.
        unsafe der.withUnsafeBytes { unsafe hasher.combine(bytes: $0) }
    }
}
