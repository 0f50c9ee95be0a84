// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import TrustStores

extension StoreContract {
    @Test("history keeps its order, and its newest part where it is long", arguments: StoreBackend.all)
    func history(_ backend: StoreBackend) async throws {
        let store = try await backend.make().store
        let id = Sample.keyId()
        for index in 0..<30 {
            try await store.record(
                StoreEvent(
                    at: Sample.now + Double(index),
                    app: "app",
                    keyId: id,
                    kind: "refused",
                    code: "code.\(index)",
                    detail: index == 29 ? String(repeating: "x", count: 5000) : nil
                )
            )
        }
        try await store.record(StoreEvent(at: Sample.now, app: "app", kind: "noise"))
        let history = try await store.history(of: id, limit: 10)
        #expect(history.map(\.code) == (20..<30).map { "code.\($0)" })
        #expect(history.last?.detail?.count == 1024)
        #expect(history.last?.at == Sample.now + 29)
        #expect(try await store.history(of: id, limit: 0).isEmpty)
        #expect(try await store.history(of: id, limit: -5).isEmpty)
    }

    @Test("additions of two nodes are summed, none is lost", arguments: StoreBackend.all)
    func tallies(_ backend: StoreBackend) async throws {
        let fixture = try await backend.make()
        let nodes = [fixture.store, try await fixture.another()]
        let hour = Date(timeIntervalSince1970: (Sample.now.timeIntervalSince1970 / 3600).rounded(.down) * 3600)
        _ = try await race(100) { index in
            try await nodes[index % 2].add(
                [
                    SignalTally(app: "a", hour: Sample.now, kind: "unsupported", code: "x", count: 2),
                    SignalTally(app: "a", hour: Sample.now, kind: "attested"),
                    SignalTally(app: "b", hour: Sample.now, kind: "attested"),
                    SignalTally(app: "a", hour: Sample.now, kind: "unsupported", code: "x", count: 1),
                    SignalTally(app: "a", hour: Sample.now + 3600, kind: "attested", count: 5),
                    SignalTally(app: "a", hour: Sample.now, kind: "attested", count: -1000),
                ].shuffled()
            )
        }
        #expect(
            try await fixture.store.tallies(app: "a", from: Sample.now, to: Sample.now + 1) == [
                SignalTally(app: "a", hour: hour, kind: "attested", code: "", count: 100),
                SignalTally(app: "a", hour: hour, kind: "unsupported", code: "x", count: 300),
            ]
        )
        #expect(try await fixture.store.tallies(app: "a", from: Sample.now, to: Sample.now + 7200).count == 3)
        #expect(try await fixture.store.tallies(app: "c", from: Sample.now, to: Sample.now + 7200).isEmpty)
        try await fixture.store.add([])
    }

    @Test("a sweep removes what is old and keeps the newest receipt", arguments: StoreBackend.all)
    func sweepRest(_ backend: StoreBackend) async throws {
        let fixture = try await backend.make()
        let store = fixture.store
        let id = try await Sample.storeWithKey(in: fixture, refreshAt: Sample.now)
        let lease = try #require(try await store.leaseDueReceipts(at: Sample.now, limit: 1, for: .seconds(9)).first)
        let newer = Sample.receipt(created: Sample.now + 5)
        _ = try await store.complete(lease, with: .receipt(newer, next: Sample.now + 99), at: Sample.now + 5)
        for index in 0..<10 { try await store.record(StoreEvent(at: Sample.now + Double(index), app: "a", kind: "k")) }
        try await store.add([SignalTally(app: "a", hour: Sample.now, kind: "attested")])
        let claim = PromotionClaim(promotion: "p", app: "a", subject: "s", transactionId: "t")
        guard case .reserved(let reservation) = try await store.reserve(claim, for: .seconds(9), at: Sample.now) else {
            return #expect(Bool(false), "a fresh claim was not reserved")
        }
        _ = try await store.answer(reservation, with: [1], at: Sample.now)
        var report = try await store.sweep(at: Sample.now + 86_400, keeping: Retention())
        #expect(report.total == 1 && report.spent == 1)
        report = try await store.sweep(at: Sample.now + 3000 * 86_400, keeping: Retention())
        #expect(report.receipts == 1 && report.tallies == 1 && report.promotionAnswers == 1)
        #expect(report.events == 12 && !report.more)
        #expect(try await store.receipts(of: id, limit: 9).map(\.receipt) == [newer])
        #expect(try await store.key(id) != nil)
    }

    @Test("one caller decides a claim, and everybody gets that answer", arguments: StoreBackend.all)
    func promotions(_ backend: StoreBackend) async throws {
        let fixture = try await backend.make()
        let nodes = [fixture.store, try await fixture.another()]
        let claim = PromotionClaim(promotion: "welcome", app: "a", subject: "key", transactionId: "t-1")
        let standings = try await race(100) { index in
            try await nodes[index % 2].reserve(claim, for: .seconds(30), at: Sample.now)
        }
        let reservations = standings.compactMap { if case .reserved(let reservation) = $0 { reservation } else { nil } }
        #expect(reservations.count == 1)
        #expect(standings.count { $0 == .pending(until: Sample.now + 30) } == 99)
        let reservation = try #require(reservations.first)
        #expect(try await nodes[0].note("about to set", on: reservation))
        // The first holder vanishes; the next one learns what it was about to do.
        guard case .reserved(let second) = try await nodes[1].reserve(claim, for: .seconds(30), at: Sample.now + 30)
        else { return #expect(Bool(false), "the claim was not free again") }
        #expect(second.note == "about to set")
        #expect(try await !nodes[0].note("late", on: reservation))
        let answers = try await race(50) { index in
            try await nodes[index % 2].answer(second, with: [UInt8(index)], at: Sample.now + 31)
        }
        #expect(Set(answers).count == 1)
        #expect(try await nodes[0].reserve(claim, for: .seconds(1), at: Sample.now + 99) == .answered(answers[0]))
        #expect(try await !nodes[0].note("after", on: second))
        let other = PromotionClaim(promotion: "welcome", app: "a", subject: "another key", transactionId: "t-1")
        guard case .reserved = try await nodes[0].reserve(other, for: .seconds(1), at: Sample.now) else {
            return #expect(Bool(false), "another caller's transaction id is its own")
        }
    }
}
