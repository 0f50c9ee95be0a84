// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

/// Which known name a misspelled one probably means.
package enum NearName {
    /// How many bytes must be changed, added or removed to make one of the other (Levenshtein). The cost is the product of the lengths.
    package static func distance(_ left: [UInt8], _ right: [UInt8]) -> Int {
        var row = Array(0...right.count)
        for (i, a) in left.enumerated() {
            var diagonal = row[0]
            row[0] = i + 1
            for (j, b) in right.enumerated() {
                let substitution = diagonal + (a == b ? 0 : 1)
                diagonal = row[j + 1]
                row[j + 1] = min(substitution, row[j] + 1, diagonal + 1)
            }
        }
        return row[right.count]
    }

    /// The first of the nearest names, or nil if none is within `limit` slips. Only the first 64 bytes of the word are read.
    package static func suggestion(for word: String, among names: [String], within limit: Int = 2) -> String? {
        let wanted = Array(word.utf8.prefix(64))
        let near = names.map { (name: $0, distance: distance(Array($0.utf8), wanted)) }.min {
            $0.distance < $1.distance
        }
        return near.flatMap { $0.distance <= limit ? $0.name : nil }
    }
}
