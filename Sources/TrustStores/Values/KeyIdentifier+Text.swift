// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import AppAttest
import Foundation

/// The spellings of a key id in bodies, paths and logs.
extension KeyIdentifier {
    /// Reads standard base64 with padding, spelled the one way that it can be spelled. Nil for anything else.
    ///
    /// One key has one spelling, so that nobody appears twice in a log or a limit.
    package init?(strictBase64 text: String) {
        guard text.utf8.count == 44, let data = Data(base64Encoded: text), data.base64EncodedString() == text else {
            return nil
        }
        self.init(bytes: data)
    }

    /// Reads the form used in paths: base64url without padding, 43 characters. Nil for anything else.
    package init?(base64URL text: String) {
        guard text.utf8.count == 43, !text.utf8.contains(where: { $0 == 0x2B || $0 == 0x2F }) else { return nil }
        let standard = String(text.map { $0 == "-" ? "+" : $0 == "_" ? "/" : $0 })
        self.init(strictBase64: standard + "=")
    }

    /// The form that paths use: base64url without padding.
    package var base64URL: String {
        String(base64.dropLast().map { $0 == "+" ? "-" : $0 == "/" ? "_" : $0 })
    }

    /// The first eight characters, which is all that a log may hold.
    package var logPrefix: String { String(base64.prefix(8)) }
}
