// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

/// A bundle version as people order it: runs of digits by their value, everything else by its bytes, so `1.9` comes before `1.10`.
struct VersionNumber: Comparable {
    private enum Part: Equatable {
        case text([UInt8])
        /// Without zeros in front; as long as it likes.
        case number([UInt8])
    }

    private let parts: [Part]

    init(_ text: String) {
        var parts: [Part] = []
        var rest = Array(text.utf8)[...]
        while let first = rest.first {
            let isNumber = VersionNumber.isDigit(first)
            let run = rest.prefix { VersionNumber.isDigit($0) == isNumber }
            rest = rest.dropFirst(run.count)
            parts.append(isNumber ? .number(Array(run.drop { $0 == 0x30 })) : .text(Array(run)))
        }
        self.parts = parts
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }

    static func < (one: Self, other: Self) -> Bool {
        for (a, b) in zip(one.parts, other.parts) where a != b {
            switch (a, b) {
            case (.number(let a), .number(let b)) where a.count != b.count: return a.count < b.count
            case (.number(let a), .number(let b)), (.text(let a), .text(let b)): return a.lexicographicallyPrecedes(b)
            case (.number, .text): return true
            case (.text, .number): return false
            }
        }
        return one.parts.count < other.parts.count
    }
}
