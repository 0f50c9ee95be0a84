// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import FoundationEssentials
import Synchronization
import TrustStores

extension StoreContract {
    static let promotions: [Case] = [
        Case("one caller decides a claim, and everybody gets that answer", oneDecider),
        Case("of many transactions of one key or user one is granted, on two nodes", oneGrant),
        Case("a granted subject is told so for every later transaction, until the grant counts no longer", remembered),
        Case("a caller that was too slow is told of the other grant, and cannot note or answer", overtaken),
        Case("a note is for the same two tokens, and goes with a definite refusal", notes),
        Case("grants go when they no longer count, and those of promotions without a reset never go", grantsAreSwept),
    ]

    static let granted = PromotionAnswer(bytes: [1], isGranted: true)
    static let refused = PromotionAnswer(bytes: [0], isGranted: false)

    static func oneDecider(_ fixture: StoreFixture) async throws {
        let nodes = [fixture.store, try await fixture.another()]
        for subject in [PromotionSubject.key(Sample.keyId()), .unnamed] {
            let claim = try Sample.claim(transaction: "t-1", of: subject)
            let standings = try await race(100) { try await nodes[$0 % 2].standing(claim) }
            let reservations = standings.compactMap {
                if case .reserved(let reservation) = $0 { reservation } else { nil }
            }
            try expect(reservations.count, is: 1)
            try expect(standings.count { $0 == .pending(until: Sample.now + 30) }, is: 99)
            let reservation = try require(reservations.first)
            try expect(try await nodes[0].note("about to set", on: reservation))
            // The first holder vanishes; the next one learns what it was about to do.
            let second = try await nodes[1].reserved(claim, at: Sample.now + 30)
            try expect(second.note, is: "about to set")
            try expect(try await !nodes[0].note("late", on: reservation))
            let answers = try await race(50) { index in
                let answer = PromotionAnswer(bytes: [UInt8(index)], isGranted: index % 2 == 0)
                return try await nodes[index % 2].answer(second, with: answer, at: Sample.now + 31)
            }
            guard case .answered(let standing)? = answers.first else {
                throw ContractViolation("the answer of the only claim was not stored")
            }
            try expect(answers.allSatisfy { $0 == .answered(standing) })
            try expect(try await nodes[0].standing(claim, at: Sample.now + 99), is: .answered(standing))
            try expect(try await !nodes[0].note("after", on: second))
        }
    }

    static func oneGrant(_ fixture: StoreFixture) async throws {
        let nodes = [fixture.store, try await fixture.another()]
        let subjects = try (0..<20).map { index in
            index % 2 == 0
                ? PromotionSubject.key(Sample.keyId()) : try require(PromotionSubject(user: "user \(index)"))
        }
        let holders = Mutex<[Int: Int]>([:])
        let grants = try await race(120) { index -> Int? in
            let claim = try Sample.claim(transaction: "t-\(index)", of: subjects[index % 20])
            while true {
                switch try await nodes[index / 20 % 2].standing(claim) {
                case .pending:
                    try await Task.sleep(for: .milliseconds(1))
                case .alreadyGranted, .answered: return nil
                case .reserved(let reservation):
                    let atOnce = holders.withLock { holders in
                        holders[index % 20, default: 0] += 1
                        return holders[index % 20]
                    }
                    try expect(atOnce, is: 1, "two hold one subject")
                    await Task.yield()
                    holders.withLock { $0[index % 20] = 0 }
                    let answer = try await nodes[index % 2].answer(reservation, with: Self.granted, at: Sample.now)
                    return answer == .answered([1]) ? index % 20 : nil
                }
            }
        }
        try expect(grants.compactMap { $0 }.sorted(), is: Array(0..<20))
    }

    static func remembered(_ fixture: StoreFixture) async throws {
        let nodes = [fixture.store, try await fixture.another()]
        let subject = PromotionSubject.key(Sample.keyId())
        let first = try Sample.claim(transaction: "first", of: subject)
        let reservation = try await nodes[0].reserved(first)
        try expect(try await nodes[0].answer(reservation, with: Self.granted, at: Sample.now + 1), is: .answered([1]))
        let second = try Sample.claim(transaction: "second", of: subject)
        let later = Sample.now + 500 * 86_400
        try expect(try await nodes[1].standing(second, at: later), is: .alreadyGranted(Sample.now + 1))
        try expect(try await nodes[1].standing(first, at: later), is: .answered([1]))
        // Nothing was left behind by the refused one.
        try expect(try await nodes[0].standing(second, at: later), is: .alreadyGranted(Sample.now + 1))
        // Others are not touched: another app's subject, another promotion, a backend that names nobody.
        _ = try await nodes[0].reserved(try Sample.claim(transaction: "second"))
        _ = try await nodes[0].reserved(try Sample.claim(transaction: "second", of: .unnamed))
        let renewed = try await nodes[1].standing(second, grantsFrom: Sample.now + 2, at: later)
        guard case .reserved(let again) = renewed else { throw ContractViolation("\(renewed)") }
        try expect(try await nodes[1].answer(again, with: Self.granted, at: later), is: .answered([1]))
        let third = try Sample.claim(transaction: "third", of: subject)
        try expect(
            try await nodes[0].standing(third, grantsFrom: Sample.now + 2, at: later), is: .alreadyGranted(later))
    }

    static func overtaken(_ fixture: StoreFixture) async throws {
        let store = fixture.store
        let subject = PromotionSubject.key(Sample.keyId())
        let slow = try await store.reserved(try Sample.claim(transaction: "slow", of: subject))
        try expect(try await store.note("writing", on: slow))
        let quick = try await store.reserved(try Sample.claim(transaction: "quick", of: subject), at: Sample.now + 30)
        try expect(quick.note, is: nil, "a note is its own transaction's")
        try expect(try await !store.note("late", on: slow))
        try expect(try await store.answer(quick, with: Self.granted, at: Sample.now + 31), is: .answered([1]))
        try expect(
            try await store.answer(slow, with: Self.granted, at: Sample.now + 32), is: .alreadyGranted(Sample.now + 31))
        try expect(try await store.standing(slow.claim, at: Sample.now + 99), is: .alreadyGranted(Sample.now + 31))
        // A refusal may still be stored: it gives nothing away.
        try expect(try await store.answer(slow, with: Self.refused, at: Sample.now + 33), is: .answered([0]))
    }

    static func notes(_ fixture: StoreFixture) async throws {
        let store = fixture.store
        let claim = try Sample.claim()
        let other = PromotionTokens(reading: "second", writing: "first")
        try expect(PromotionTokens(reading: "a1:b", writing: "") != PromotionTokens(reading: "a", writing: "1:b"))
        try expect(try await store.note("writing", on: store.reserved(claim)))
        try expect(try await store.reserved(claim, tokens: other, at: Sample.now + 30).note, is: nil)
        let same = try await store.reserved(claim, at: Sample.now + 60)
        try expect(same.note, is: "writing")
        try await store.release(same, at: Sample.now + 61)
        // Free at once, also for another transaction, and without the note.
        let next = try await store.reserved(
            try Sample.claim(transaction: "other", of: claim.subject), at: Sample.now + 61)
        try await store.release(next, at: Sample.now + 61)
        let last = try await store.reserved(claim, at: Sample.now + 61)
        try expect(last.note, is: nil)
        // A caller that lost the reservation releases nothing.
        try await store.release(same, at: Sample.now + 61)
        try expect(try await store.standing(claim, at: Sample.now + 62), is: .pending(until: Sample.now + 91))
    }

    static func grantsAreSwept(_ fixture: StoreFixture) async throws {
        let store = fixture.store
        func grant(_ promotion: String, _ user: String) async throws -> PromotionClaim {
            let subject = try require(PromotionSubject(user: user))
            let claim = try require(
                PromotionClaim(promotion: promotion, app: "app", subject: subject, transactionId: "t-\(user)"))
            let answer = try await store.answer(store.reserved(claim), with: Self.granted, at: Sample.now)
            try expect(answer, is: .answered([1]))
            return claim
        }
        let yearly = try await (0..<3).asyncMap { try await grant("yearly", "user \($0)") }
        let once = try await grant("once", "user")
        let gone = try await grant("not configured", "user")
        fixture.clock.advance(.seconds(60))
        let now = fixture.clock.now
        func sweep(_ edge: Date, claimed: Date? = nil) async throws -> Int {
            var retention = Retention()
            retention.rowsAtOnce = 2
            retention.promotionGrants = ["yearly": edge]
            var swept = 0
            while true {
                let report = try await store.sweep(at: claimed ?? now, keeping: retention)
                swept += report.promotionGrants
                guard report.more else { return swept }
            }
        }
        func standings(_ claims: [PromotionClaim]) async throws -> [PromotionStanding] {
            try await claims.asyncMap { claim in
                let next = try require(
                    PromotionClaim(
                        promotion: claim.promotion, app: "app", subject: claim.subject, transactionId: "next"))
                return try await store.standing(next, at: now)
            }
        }
        _ = try await store.settleClock(at: now)
        try expect(try await sweep(Sample.now), is: 0, "a grant that still counts stays")
        try expect(try await standings(yearly).allSatisfy { $0 == .alreadyGranted(Sample.now) })
        // A clock that is ahead of the server's by less than the limit does not move the edge either.
        let early = try await sweep(Sample.now + 30, claimed: now + 59)
        try expect(early == 0 || !fixture.hasServerClock)
        try expect(try await early + sweep(Sample.now + 1), is: 3)
        try expect(
            try await standings(yearly).allSatisfy { if case .reserved = $0 { true } else { false } },
            "what was swept may be granted again")
        try expect(try await standings([once, gone]).allSatisfy { $0 == .alreadyGranted(Sample.now) })
    }
}

extension Sequence {
    fileprivate func asyncMap<Result>(_ body: (Element) async throws -> Result) async rethrows -> [Result] {
        var results: [Result] = []
        for element in self { results.append(try await body(element)) }
        return results
    }
}
