// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import DeviceCheckBits
import Testing

@Suite struct BitRegistryTests {
    private let trial = BitMeaning(bit: .zero, name: "trialUsed")
    private let fraud = BitMeaning(bit: .one, name: "fraud", resetAfterMonths: 6)

    private func state(_ bit0: Bool, _ bit1: Bool, _ month: String) throws -> DeviceBitState {
        .set(BitPair(bit0: bit0, bit1: bit1), lastUpdate: try #require(YearMonth(month)))
    }

    @Test(arguments: [
        ("2026-05", true), ("2026-06", false), ("2030-01", false), ("2025-12", true), ("2025-01", true),
    ])
    func resetIsDueAfterItsMonths(now: String, value: Bool) throws {
        let registry = try BitRegistry([trial, fraud])
        let bits = registry.effective(try state(true, true, "2025-12"), now: try #require(YearMonth(now)))
        #expect(bits == BitPair(bit0: true, bit1: value))
    }

    @Test func writingTheOtherBitDoesNotReviveABitWhoseResetIsDue() throws {
        let registry = try BitRegistry([trial, fraud])
        let now = try #require(YearMonth("2026-11"))
        let old = try state(false, true, "2025-01")
        #expect(registry.bits(changing: ["trialUsed": true], of: old, now: now) == BitPair(bit0: true, bit1: false))
    }

    @Test func writingKeepsTheOtherBit() throws {
        let registry = try BitRegistry([trial, fraud])
        let now = try #require(YearMonth("2026-11"))
        let bits = registry.bits(changing: ["fraud": true], of: try state(true, false, "2026-10"), now: now)
        #expect(bits == BitPair(bit0: true, bit1: true))
        #expect(registry.bits(changing: ["unknown": true], of: .neverSet, now: now) == nil)
    }

    @Test func aBitWithoutANameIsKeptToo() throws {
        let registry = try BitRegistry([trial])
        let now = try #require(YearMonth("2026-11"))
        let bits = registry.bits(changing: ["trialUsed": false], of: try state(true, true, "2020-01"), now: now)
        #expect(bits == BitPair(bit0: false, bit1: true))
    }

    @Test(arguments: [
        ([BitMeaning(bit: .zero, name: "a"), BitMeaning(bit: .zero, name: "b")], 1, "bit"),
        ([BitMeaning(bit: .zero, name: "a"), BitMeaning(bit: .one, name: "a")], 1, "name"),
        ([BitMeaning(bit: .zero, name: "")], 0, "name"),
        ([BitMeaning(bit: .zero, name: "a/b")], 0, "name"),
        ([BitMeaning(bit: .one, name: "a", resetAfterMonths: 0)], 0, "resetAfterMonths"),
    ])
    func refusesContradictions(meanings: [BitMeaning], index: Int, member: String) {
        let fault = #expect(throws: BitRegistryFault.self) { try BitRegistry(meanings) }
        #expect(fault?.index == index)
        #expect(fault?.member == member)
    }

    @Test func promotionIsGrantedOnce() throws {
        let registry = try BitRegistry([trial, fraud])
        let now = try #require(YearMonth("2026-11"))
        let rule = try #require(PromotionRule("trialUsed", in: registry))
        #expect(rule.decide(.neverSet, now: now) == .grant(write: BitPair(bit0: true, bit1: false), firstClaim: true))
        #expect(rule.decide(try state(true, false, "2020-01"), now: now) == .refuse)
        #expect(PromotionRule("other", in: registry) == nil)
    }

    @Test func promotionAfterItsResetIsNotTheFirst() throws {
        let registry = try BitRegistry([trial, fraud])
        let now = try #require(YearMonth("2026-11"))
        let rule = try #require(PromotionRule("fraud", in: registry))
        let decision = rule.decide(try state(true, true, "2026-05"), now: now)
        #expect(decision == .grant(write: BitPair(bit0: true, bit1: true), firstClaim: false))
        #expect(rule.decide(try state(true, true, "2026-06"), now: now) == .refuse)
    }
}
