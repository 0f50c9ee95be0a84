// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import Vocabulary

/// The limits of property lists. Each is far above what a real app has, and low enough to bound time and memory.
package enum PlistLimits {
    /// The most bytes. The largest Info.plist seen in the wild is under 200 kB.
    package static let bytes = 8 << 20
    /// The deepest nesting. Apple's own parser stops at 512.
    package static let depth = 128
    /// The most values, shared ones counted at each place where they appear.
    package static let values = 500_000
    /// The most duplicate keys of one list that are remembered, one more than a report lists.
    package static let oddities = 10_001
}

extension MalformedInput {
    /// A property list, or another file of an app, that cannot be read.
    package static func plist(_ place: String, _ reason: String) -> MalformedInput {
        MalformedInput(code: .malformedPlist, place: place, reason: reason)
    }
}

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
