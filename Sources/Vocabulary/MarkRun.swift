// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

extension StringProtocol {
    /// Whether more combining marks follow each other than any writing system needs: more than 30, the limit of the Stream-Safe Text
    /// Format (UAX #15, section 13).
    ///
    /// Readers of files refuse such text. `String` sorts every such run to compare or hash it, in time that is quadratic in its length, so
    /// below the limit every operation on the text is linear, wherever it goes.
    @inlinable package var hasMarkRun: Bool {
        // Every mark is at least two bytes outside ASCII: a shorter run of those needs no closer look.
        var run = 0
        for byte in utf8 {
            run = byte < 0x80 ? 0 : run + 1
            if run > 60 { return String(self).hasMarkRunByScalars }
        }
        return false
    }

    @usableFromInline var hasMarkRunByScalars: Bool {
        var run = 0
        for scalar in unicodeScalars {
            // No scalar below U+0300 is a mark.
            if scalar.value < 0x300 || scalar.properties.canonicalCombiningClass == .notReordered {
                run = 0
            } else {
                run += 1
                if run > 30 { return true }
            }
        }
        return false
    }

    /// At most `limit` bytes of the text, cut where a scalar begins.
    package func prefix(bytes limit: Int) -> String {
        guard utf8.count > limit else { return String(self) }
        var scalars = String.UnicodeScalarView()
        var length = 0
        for scalar in unicodeScalars {
            length += UTF8.width(scalar)
            if length > limit { break }
            scalars.append(scalar)
        }
        return String(scalars)
    }
}
