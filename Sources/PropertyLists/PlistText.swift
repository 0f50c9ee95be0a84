// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Vocabulary

/// What a text of a property list may be, in any of its forms.
package enum PlistText {
    /// The most bytes of a key. A host name ends at 255; the longest key of Apple's has 60.
    package static let keyBytes = 1_024

    /// Why a text is refused; nil for one that any app may have.
    ///
    /// - Parameter isKey: keys are short, and stand in reports.
    package static func fault(_ text: String, isKey: Bool) -> String? {
        if isKey, text.utf8.count > keyBytes {
            return "has a key of \(text.utf8.count) bytes; the limit is \(keyBytes)"
        }
        return text.hasMarkRun ? "has more than 30 combining marks in a row, which no language uses" : nil
    }
}
