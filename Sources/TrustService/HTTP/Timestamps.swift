// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import FoundationEssentials
import Vocabulary

/// Instants as text, RFC 3339 in UTC.
package enum Timestamps {
    /// `2026-11-21T12:00:00Z`
    package static func text(_ date: Date) -> String {
        RFC3339.text(date)
    }

    /// Reads an instant with or without fractions, or a date alone, which is its midnight in UTC.
    package static func date(_ text: String) -> Date? {
        RFC3339.date(text.utf8) ?? RFC3339.day(text.utf8)
    }
}

extension Duration {
    /// The length in seconds, fractions included.
    package var inSeconds: Double { Double(components.seconds) + Double(components.attoseconds) * 1e-18 }
}
