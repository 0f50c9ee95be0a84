// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Crypto
import NIOCore
import Synchronization
import TLSModel
import Testing

@testable import TLSProbe

/// How often and how long the key of a group is sent again.
@Suite struct RecentKeySharesTests {
    private let start = NIODeadline.uptimeNanoseconds(1_000_000_000)

    private func make(_ group: NamedGroup) -> KeyShare? { group == .x25519 ? .x25519(.init()) : nil }

    @Test func aKeyIsUsedForSoManyHellosAndNoMore() throws {
        let shares = RecentKeyShares()
        var seen: [[UInt8]: Int] = [:]
        for _ in 0..<(3 * RecentKeyShares.most) {
            seen[try #require(shares.share(.x25519, at: start, make: make)).publicKey, default: 0] += 1
        }
        #expect(seen.count == 3)
        #expect(seen.values.allSatisfy { $0 == RecentKeyShares.most })
    }

    @Test func anOldKeyIsNotUsed() throws {
        let shares = RecentKeyShares()
        func key(after time: TimeAmount) throws -> [UInt8] {
            try #require(shares.share(.x25519, at: start + time, make: make)).publicKey
        }
        let first = try key(after: .zero)
        #expect(try key(after: RecentKeyShares.lifetime - .nanoseconds(1)) == first)
        let second = try key(after: RecentKeyShares.lifetime)
        #expect(second != first)
        #expect(try key(after: RecentKeyShares.lifetime + .seconds(1)) == second)
    }

    @Test func aGroupWithoutAKeyIsAskedForAgain() {
        let shares = RecentKeyShares()
        let asked = Mutex(0)
        for _ in 0..<2 {
            let share = shares.share(.secp521r1, at: start) { _ in
                asked.withLock { $0 += 1 }
                return nil
            }
            #expect(share == nil)
        }
        #expect(asked.withLock { $0 } == 2)
    }

    @Test func groupsHaveKeysOfTheirOwn() {
        let shares = RecentKeyShares()
        for group in [NamedGroup.x25519, .secp256r1] {
            let share = shares.share(group, at: start) { $0 == .x25519 ? .x25519(.init()) : .secp256r1(.init()) }
            #expect(share?.group == group)
        }
    }
}
