// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import NIOConcurrencyHelpers
import Testing

@testable import TLSProbe

/// Issuers are decoded once, and what is remembered stays bounded whatever servers present.
struct DecodedIssuersTests {
    @Test func anIssuerIsDecodedOnce() {
        let decoded = NIOLockedValueBox(0)
        let issuers = DecodedIssuers<Int> { der in
            decoded.withLockedValue { $0 += 1 }
            return der.count
        }
        #expect(issuers[[1, 2, 3]] == 3)
        #expect(issuers[[1, 2, 3]] == 3)
        #expect(issuers[[1, 2, 4, 5]] == 4)
        #expect(decoded.withLockedValue { $0 } == 2)
    }

    @Test func whatCannotBeReadIsNotRemembered() {
        let decoded = NIOLockedValueBox(0)
        let issuers = DecodedIssuers<Int> { _ in
            decoded.withLockedValue { $0 += 1 }
            return nil
        }
        #expect(issuers[[1]] == nil)
        #expect(issuers[[1]] == nil)
        #expect(decoded.withLockedValue { $0 } == 2)
        #expect(issuers.count == 0)
    }

    @Test func manyIssuersAndLargeOnesStayBounded() {
        let issuers = DecodedIssuers<Int>(capacity: 16) { $0.count }
        for index in 0..<1000 {
            #expect(issuers[[UInt8(index & 255), UInt8(index >> 8)]] == 2)
            #expect(issuers.count <= 16)
        }
        let before = issuers.count
        #expect(issuers[[UInt8](repeating: 1, count: 8193)] == 8193)
        #expect(issuers.count == before)
    }
}
