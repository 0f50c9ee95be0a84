// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Testing
import Vocabulary

@Suite struct ByteSearchTests {
    /// The search of bytes finds what that of the standard library finds, in a text with many near misses.
    @Test func wordsAreFoundWhereTheyStandFirst() {
        let text = Array("abaabaaabaaaab".utf8)
        for start in text.indices {
            for end in start...text.count {
                let words = Array(text[start..<end])
                for slice in [text[...], text[3...], text[3..<9], text[5..<5]] {
                    let place =
                        words.isEmpty
                        ? slice.startIndex : slice.indices.first { slice[$0...].starts(with: words) }
                    let expected = place.map { $0..<$0 + words.count }
                    #expect(slice.firstRange(of: words) == expected && slice.contains(words) == (expected != nil))
                }
            }
        }
        #expect(!text.contains("abc".utf8) && text.contains("aaaab".utf8) && text.firstRange(of: "b".utf8) == 1..<2)
        #expect([UInt8]().firstRange(of: "a".utf8) == nil)
    }
}
