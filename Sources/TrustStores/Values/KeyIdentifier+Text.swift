// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import AppAttest
import FoundationEssentials
import Vocabulary

/// The spellings of a key id in bodies, paths and logs.
extension KeyIdentifier {
    /// Reads standard base64 with padding, spelled the one way that it can be spelled. Nil for anything else.
    ///
    /// One key has one spelling, so that nobody appears twice in a log or a limit.
    package init?(strictBase64 text: String) {
        guard text.utf8.count == 44, let bytes = Base64.decode(text) else { return nil }
        self.init(bytes: bytes)
    }

    /// Reads the form used in paths: base64url without padding, 43 characters. Nil for anything else.
    package init?(base64URL text: String) {
        guard text.utf8.count == 43, let bytes = Base64.decodeURL(text) else { return nil }
        self.init(bytes: bytes)
    }

    /// The form that paths use: base64url without padding.
    package var base64URL: String { Base64.encodeURL(bytes) }

    /// The first eight characters, which is all that a log may hold.
    package var logPrefix: String { String(base64.prefix(8)) }
}
