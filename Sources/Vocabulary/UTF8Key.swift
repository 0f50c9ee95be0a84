// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Text from outside as the key of a table: compared and hashed by its UTF-8 bytes.
///
/// `String` compares by canonical equivalence. For text that an attacker chose that is quadratic (n combining marks in the wrong order are
/// sorted by insertion at every comparison and every hash) and wrong (two names of different bytes may be equal).
package struct UTF8Key: Hashable, Comparable, Sendable, ExpressibleByStringLiteral {
    package let text: String

    package init(_ text: String) { self.text = text }

    package init(stringLiteral value: String) { text = value }

    package static func == (left: UTF8Key, right: UTF8Key) -> Bool { left.text.hasSameBytes(as: right.text) }

    package static func < (left: UTF8Key, right: UTF8Key) -> Bool {
        left.text.utf8.lexicographicallyPrecedes(right.text.utf8)
    }

    package func hash(into hasher: inout Hasher) {
        // Safe: the buffer is read while it is lent, and no further than its own count.
        let isDone: Void? = unsafe text.utf8.withContiguousStorageIfAvailable {
            unsafe hasher.combine(bytes: UnsafeRawBufferPointer($0))
        }
        if isDone == nil { for byte in text.utf8 { hasher.combine(byte) } }
        // Ends the text: two keys in a row hash unlike their concatenation.
        hasher.combine(0xFF as UInt8)
    }
}

extension StringProtocol {
    /// Whether both texts have the same UTF-8 bytes: linear, and never true for different bytes, which `==` is not for text from outside.
    @inlinable package func hasSameBytes(as other: some StringProtocol) -> Bool { utf8.elementsEqual(other.utf8) }
}

extension String {
    /// The same for two strings, by the system's own comparison of bytes; most differ in their lengths already.
    package func hasSameBytes(as other: String) -> Bool {
        guard utf8.count == other.utf8.count else { return false }
        // Safe: both buffers are read while they are lent, and have the same count.
        let isSame = unsafe utf8.withContiguousStorageIfAvailable { left in
            unsafe other.utf8.withContiguousStorageIfAvailable { right -> Bool in
                guard let first = left.baseAddress, let second = right.baseAddress else { return true }
                return unsafe memcmp(first, second, left.count) == 0
            }
        }
        return (isSame ?? nil) ?? utf8.elementsEqual(other.utf8)
    }
}
