// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Testing
import Vocabulary

@Suite struct Base64Tests {
    /// The readers differ in one point: whether the bits that pad the last character must be zero.
    @Test(
        arguments: [
            ("AAAA", [0, 0, 0], [0, 0, 0]), ("AAE=", [0, 1], [0, 1]), ("AQ==", [1], [1]), ("", [], []),
            ("AAF=", nil, [0, 1]), ("AR==", nil, [1]),
            ("AA=A", nil, nil), ("A===", nil, nil), ("=", nil, nil), ("AAA", nil, nil), ("AAAA\n", nil, nil),
            ("AAAAAB==", nil, [0, 0, 0, 0]), ("====", nil, nil), ("AAAA====", nil, nil), ("AA==", [0], [0]),
            ("AA=\u{0}", nil, nil), ("\u{80}AA", nil, nil), ("AAAA AA=", nil, nil),
            ("+/+/", [251, 255, 191], [251, 255, 191]),
            ("AA-_", nil, nil), ("AA==AAAA", nil, nil), ("\u{FF21}AAA", nil, nil),
        ] as [(String, [UInt8]?, [UInt8]?)]
    )
    func standardAlphabet(_ text: String, _ strict: [UInt8]?, _ lenient: [UInt8]?) {
        #expect(Base64.decode(text) == strict)
        #expect(Base64.decodeIgnoringStrayBits(text) == lenient)
    }
}
