// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Testing
import Vocabulary

@testable import TLSProbe

/// What is remembered of issuers stays bounded whatever servers present.
struct KnownIssuersTests {
    @Test func anIssuerIsReadOnceAndWhatCannotBeReadIsNotRemembered() {
        let known = BoundedCache<EncodedKey, Int>.issuers()
        #expect(known.value(of: [1, 2, 3]) { 3 } == 3)
        #expect(known.value(of: [1, 2, 3]) { nil } == 3)
        #expect(known.value(of: [1]) { nil } == nil)
        #expect(known.value(of: [1]) { 1 } == 1)
    }

    @Test func manyIssuersAndLargeOnesStayBounded() {
        let known = BoundedCache<EncodedKey, Int>.issuers()
        for index in 0..<1000 {
            #expect(known.value(of: [UInt8(index & 255), UInt8(index >> 8)]) { 2 } == 2)
            #expect(known.count <= 128)
        }
        let before = known.count
        #expect(known.value(of: [UInt8](repeating: 1, count: 8193)) { 8193 } == 8193)
        #expect(known.count == before)
    }
}
