// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Vocabulary

/// What names may be stored: every backend takes the same texts, and compares them by their bytes.
///
/// PostgreSQL has no text with a zero byte in it, so no backend takes one.
package enum StoreText {
    /// The longest name of a user, in UTF-8 bytes.
    package static let userLimit = 1024
    /// The longest id of a transaction, in UTF-8 bytes.
    package static let transactionLimit = 512
    /// The longest name of a promotion or an app, in UTF-8 bytes.
    package static let nameLimit = 256
    /// The longest detail of an event, or text of an audit entry, in UTF-8 bytes; what is longer is cut.
    package static let detailLimit = 1024

    /// Whether a text may be stored as a name: at most `limit` bytes of UTF-8, and no zero byte among them.
    package static func isStorable(_ text: String, limit: Int) -> Bool {
        text.utf8.count <= limit && !text.utf8.contains(0)
    }

    /// Whether a text may be stored as the name of a user.
    package static func isUser(_ text: String) -> Bool { isStorable(text, limit: userLimit) }

    /// Whether two names are the same to a database: byte by byte, or both absent.
    package static func areSame(_ left: String?, _ right: String?) -> Bool {
        guard let left, let right else { return left == nil && right == nil }
        return left.hasSameBytes(as: right)
    }

    /// The text as it may be stored: cut to ``detailLimit`` bytes at a whole scalar, with U+FFFD in the place of each zero.
    static func stored(_ text: String) -> String {
        var scalars = String.UnicodeScalarView()
        var count = 0
        for scalar in text.unicodeScalars {
            let kept: Unicode.Scalar = scalar.value == 0 ? "\u{FFFD}" : scalar
            count += UTF8.width(kept)
            if count > detailLimit { break }
            scalars.append(kept)
        }
        return String(scalars)
    }
}
