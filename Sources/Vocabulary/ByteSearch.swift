// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Glibc

// The searches of the standard library are for elements of any kind and take many times as long. Where words are searched in bytes, these take
// their place: they have the same names and are the more special ones.

extension UnsafeRawBufferPointer {
    /// How many bytes stand before the first place of some words, which are looked for from an offset on; nil if they are not there.
    package func offset(of words: UnsafeRawBufferPointer, from start: Int = 0) -> Int? {
        guard start <= count, words.count <= count - start else { return nil }
        guard let base = baseAddress, let wordsBase = words.baseAddress, let first = unsafe words.first else {
            return start
        }
        var index = start
        while index <= count - words.count {
            // Safe: every comparison begins at or behind `start` and ends at or before the end.
            let rest = count - words.count - index + 1
            guard let hit = unsafe memchr(base + index, CInt(first), rest) else { return nil }
            let place = unsafe UnsafeRawPointer(hit) - base
            if unsafe memcmp(base + place, wordsBase, words.count) == 0 { return place }
            index = place + 1
        }
        return nil
    }
}

extension ArraySlice<UInt8> {
    /// Where some words stand first.
    package func firstRange(of words: some Collection<UInt8>) -> Range<Int>? {
        let words = Array(words)
        // Safe: the pointers are not kept.
        let offset = unsafe withUnsafeBytes { bytes in
            unsafe words.withUnsafeBytes { unsafe bytes.offset(of: $0) }
        }
        return offset.map { startIndex + $0..<startIndex + $0 + words.count }
    }

    package func contains(_ words: some Collection<UInt8>) -> Bool { firstRange(of: words) != nil }
}

extension [UInt8] {
    /// Where some words stand first.
    package func firstRange(of words: some Collection<UInt8>) -> Range<Int>? { self[...].firstRange(of: words) }

    package func contains(_ words: some Collection<UInt8>) -> Bool { self[...].contains(words) }

    /// The line and the column of an offset in a text, from 1, in characters as an editor counts them.
    package func place(of offset: Int) -> String {
        let before = prefix(offset)
        let line = before.lastIndex(of: 0x0A).map { before[($0 + 1)...] } ?? before
        return "line \(before.count { $0 == 0x0A } + 1), column \(line.count { $0 & 0xC0 != 0x80 } + 1)"
    }
}
