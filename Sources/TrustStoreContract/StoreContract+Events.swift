// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import TrustStores

extension StoreContract {
    static let events: [Case] = [
        Case("history keeps its order, and only its newest part if it is long", history),
        Case("additions of two nodes are summed, none is lost", tallies),
        Case("a sweep removes what is old and keeps the newest receipt", sweepRest),
    ]

    static func history(_ fixture: StoreFixture) async throws {
        let store = fixture.store
        let id = Sample.keyId()
        for index in 0..<30 {
            try await store.record(
                StoreEvent(
                    at: Sample.now + Double(index), app: "app", keyId: id, kind: "refused", code: "code.\(index)",
                    detail: index == 29 ? String(repeating: "x", count: 5000) : nil))
        }
        try await store.record(StoreEvent(at: Sample.now, app: "app", kind: "noise"))
        let history = try await store.history(of: id, limit: 10)
        try expect(history.map(\.code), is: (20..<30).map { "code.\($0)" })
        try expect(history.last?.detail?.count, is: 1024)
        try expect(history.last?.at, is: Sample.now + 29)
        try expect(try await store.history(of: id, limit: 0).isEmpty)
        try expect(try await store.history(of: id, limit: -5).isEmpty)
    }

    static func tallies(_ fixture: StoreFixture) async throws {
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
        try expect(
            try await fixture.store.tallies(app: "a", from: Sample.now, to: Sample.now + 1),
            is: [
                SignalTally(app: "a", hour: hour, kind: "attested", code: "", count: 100),
                SignalTally(app: "a", hour: hour, kind: "unsupported", code: "x", count: 300),
            ]
        )
        try expect(try await fixture.store.tallies(app: "a", from: Sample.now, to: Sample.now + 7200).count, is: 3)
        try expect(try await fixture.store.tallies(app: "c", from: Sample.now, to: Sample.now + 7200).isEmpty)
        try await fixture.store.add([])
    }

    static func sweepRest(_ fixture: StoreFixture) async throws {
        let store = fixture.store
        let id = try await Sample.storeWithKey(in: fixture, refreshAt: Sample.now)
        let lease = try require(try await store.leaseDueReceipts(at: Sample.now, limit: 1, for: .seconds(9)).first)
        let newer = Sample.receipt(created: Sample.now + 5)
        _ = try await store.complete(lease, with: .receipt(newer, next: Sample.now + 99), at: Sample.now + 5)
        for index in 0..<10 { try await store.record(StoreEvent(at: Sample.now + Double(index), app: "a", kind: "k")) }
        try await store.add([SignalTally(app: "a", hour: Sample.now, kind: "attested")])
        let answered = try await store.reserved(Sample.claim(transaction: "answered"))
        _ = try await store.answer(answered, with: PromotionAnswer(bytes: [1], isGranted: false), at: Sample.now)
        let vanished = try await store.reserved(Sample.claim(transaction: "vanished"))
        try expect(try await store.note("about to set", on: vanished))
        try await store.append([Sample.auditEntry()])
        let revoked = try await Sample.storeWithKey(in: fixture)
        _ = try await store.revoke(revoked, code: nil, at: Sample.now)
        try expect(try await store.deleteKey(revoked))
        var report = try await store.sweep(at: Sample.now, keeping: Retention())
        try expect(report.total == 0 && report.clockFault == nil)
        fixture.clock.advance(.seconds(86_400))
        report = try await store.sweep(at: fixture.clock.now, keeping: Retention())
        try expect(report.total == 2 && report.spent == 2)
        fixture.clock.advance(.seconds(3000 * 86_400))
        report = try await store.sweep(at: fixture.clock.now, keeping: Retention())
        try expect(report.receipts == 1 && report.tallies == 1 && report.promotionAnswers == 1)
        // A claim without an answer goes, and who held a subject without a grant.
        try expect(report.openClaims == 3 && report.audit == 1 && report.tombstones == 1)
        try expect(report.events == 14 && !report.more)
        try expect(try await store.receipts(of: id, limit: 9).map(\.receipt), is: [newer])
        try expect(try await store.key(id) != nil)
    }
}
