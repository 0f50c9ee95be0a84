// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import TrustStores

@Suite struct CounterWindowTests {
    @Test("in challenge mode each counter of the window is accepted once, in any order")
    func anyOrder() {
        var window = CounterWindow(highest: 0, seen: 1)
        for counter in (1...60).shuffled() {
            guard let next = window.accepting(UInt32(counter)) else {
                #expect(Bool(false), "counter \(counter) was refused")
                return
            }
            #expect(next.highest >= window.highest)
            window = next
        }
        for counter in 0...60 { #expect(window.accepting(UInt32(counter)) == nil) }
    }

    @Test("the ends of the 32 bits", arguments: [UInt32.max, UInt32.max - 1, UInt32(1) << 31])
    func ends(_ counter: UInt32) {
        let window = CounterWindow(highest: 0, seen: 1).accepting(counter)
        #expect(window?.highest == counter)
        #expect(window?.accepting(counter) == nil)
        #expect(window?.accepting(0)?.highest == counter)
    }

    @Test("a step of exactly 64 forgets what was before")
    func slide() {
        let window = CounterWindow(highest: 10, seen: .max)
        #expect(window.accepting(73)?.seen == UInt64(1) << 63 | 1)
        #expect(window.accepting(74)?.seen == 1)
    }
}
