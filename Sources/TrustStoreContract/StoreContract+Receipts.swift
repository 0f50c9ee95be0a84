// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import FoundationEssentials
import TrustStores
import Vocabulary

extension StoreContract {
    static let receipts: [Case] = [
        Case("due receipts are shared between nodes, and none is refreshed twice", leases),
        Case("the longest overdue comes first, and brings all that a refresh needs", leaseContents),
        Case("a newer receipt replaces, an older or equal one does not, history is kept", replacing),
        Case("failures are counted, an unchanged receipt is no failure, a stop is final", failures),
        Case("a caller that lost its lease changes nothing", lostLease),
        Case("metrics are counted by app and environment, without revoked keys", metrics),
    ]

    static func leases(_ fixture: StoreFixture) async throws {
        let nodes = [fixture.store, try await fixture.another()]
        var due: Set<KeyIdentifier> = []
        for index in 0..<40 {
            due.insert(try await Sample.storeWithKey(in: fixture, refreshAt: Sample.now + Double(index)))
        }
        _ = try await Sample.storeWithKey(in: fixture, refreshAt: Sample.now + 1000)
        _ = try await Sample.storeWithKey(in: fixture, refreshAt: nil)
        let instant = Sample.now + 100
        let leases = try await race(30) { index in
            try await nodes[index % 2].leaseDueReceipts(at: instant, limit: 3, for: .seconds(60))
        }.flatMap { $0 }
        // Rows that another node is looking at are skipped, so a few may be left for the next round.
        let rest = try await fixture.store.leaseDueReceipts(at: instant, limit: 100, for: .seconds(60))
        try expect(leases.count + rest.count, is: 40)
        try expect(Set((leases + rest).map(\.key.id)), is: due)
        try expect(try await nodes[1].leaseDueReceipts(at: instant + 59, limit: 100, for: .seconds(60)).isEmpty)
        try expect(try await nodes[1].leaseDueReceipts(at: instant + 60, limit: 100, for: .seconds(60)).count, is: 40)
    }

    static func leaseContents(_ fixture: StoreFixture) async throws {
        let late = try await Sample.storeWithKey(in: fixture, refreshAt: Sample.now + 2)
        let receipt = Sample.receipt(metric: 3, notBefore: Sample.now - 5)
        let early = try await Sample.storeWithKey(in: fixture, refreshAt: Sample.now + 1, receipt: receipt)
        let leases = try await fixture.store.leaseDueReceipts(at: Sample.now + 3, limit: 1, for: .seconds(9))
        try expect(leases.map(\.key.id), is: [early])
        try expect(leases.first?.receipt == receipt && leases.first?.key.environment == "production")
        try expect(leases.first?.key.publicKeyBytes.count == 65 && leases.first?.failures == 0)
        try expect(
            try await fixture.store.leaseDueReceipts(at: Sample.now + 3, limit: 9, for: .seconds(9)).map(\.key.id),
            is: [
                late
            ]
        )
        try expect(try await fixture.store.leaseDueReceipts(at: Sample.now + 99, limit: 0, for: .seconds(9)).isEmpty)
        try expect(try await fixture.store.leaseDueReceipts(at: Sample.now + 99, limit: -1, for: .seconds(9)).isEmpty)
    }

    static func replacing(_ fixture: StoreFixture) async throws {
        let store = fixture.store
        let first = Sample.receipt()
        let id = try await Sample.storeWithKey(in: fixture, refreshAt: Sample.now, receipt: first)
        let newer = Sample.receipt(created: Sample.now + 1000, metric: 4, notBefore: Sample.now + 2000)
        let older = Sample.receipt(created: Sample.now + 999, metric: 9)
        let twin = Sample.receipt(created: Sample.now + 1000, metric: 9)
        var instant = Sample.now
        for (record, outcome) in [
            (newer, RefreshOutcome.stored), (newer, .unchanged), (older, .older), (twin, .older), (first, .older),
        ] {
            instant += 100
            let lease = try require(try await store.leaseDueReceipts(at: instant, limit: 1, for: .seconds(60)).first)
            let result = RefreshResult.receipt(record, next: instant + 50)
            try expect(try await store.complete(lease, with: result, at: instant), is: outcome)
            try expect(try await store.complete(lease, with: result, at: instant), is: .lost, "a lease ends once")
            try expect(try await store.leaseDueReceipts(at: instant + 49, limit: 1, for: .seconds(60)).isEmpty)
        }
        let history = try await store.receipts(of: id, limit: 10)
        try expect(history.map(\.receipt), is: [newer, first])
        try expect(history.first?.storedAt, is: Sample.now + 100)
        try expect(try await store.receipts(of: id, limit: 1).map(\.receipt), is: [newer])
        try expect(try await store.key(id)?.riskMetric, is: 4)
        try expect(try await store.key(id)?.receiptExpiresAt, is: newer.expiresAt)
        let events = try await store.history(of: id, limit: 10)
        try expect(events.map(\.code), is: [nil, nil, "receipt.older", "receipt.older", "receipt.older"])
    }

    static func failures(_ fixture: StoreFixture) async throws {
        let store = fixture.store
        let id = try await Sample.storeWithKey(in: fixture, refreshAt: Sample.now)
        var instant = Sample.now
        for (result, failures) in [
            (RefreshResult.later(Sample.now + 10, code: "apple.unavailable"), 0),
            (.later(Sample.now + 20, code: "apple.unavailable"), 1), (.later(Sample.now + 30, code: nil), 2),
            (.stop(code: "receipt.expired"), 0),
        ] {
            let lease = try require(try await store.leaseDueReceipts(at: instant, limit: 1, for: .seconds(5)).first)
            try expect(lease.failures, is: failures)
            try expect(try await store.complete(lease, with: result, at: instant), is: .rescheduled)
            instant += 10
        }
        try expect(try await store.leaseDueReceipts(at: .distantFuture, limit: 1, for: .seconds(5)).isEmpty)
        try expect(
            try await store.history(of: id, limit: 10).map(\.code)
                == [nil, "apple.unavailable", "apple.unavailable", "receipt.expired"])
    }

    static func lostLease(_ fixture: StoreFixture) async throws {
        let id = try await Sample.storeWithKey(in: fixture, refreshAt: Sample.now)
        let slow = try require(
            try await fixture.store.leaseDueReceipts(at: Sample.now, limit: 1, for: .seconds(10)).first)
        let quick = try require(
            try await fixture.store.leaseDueReceipts(at: Sample.now + 10, limit: 1, for: .seconds(10)).first)
        let result = RefreshResult.receipt(Sample.receipt(created: Sample.now + 5), next: Sample.now + 99)
        try expect(try await fixture.store.complete(slow, with: result, at: Sample.now + 11), is: .lost)
        try expect(try await fixture.store.receipts(of: id, limit: 5).count, is: 1)
        try expect(try await fixture.store.complete(quick, with: result, at: Sample.now + 11), is: .stored)
    }

    static func metrics(_ fixture: StoreFixture) async throws {
        let store = fixture.store
        var last: KeyIdentifier?
        for (app, environment, metric) in [
            ("a", "production", 1), ("a", "production", 1), ("a", "production", 7), ("a", "development", 1),
            ("b", "production", 1), ("a", "production", nil), ("a", "production", 9),
        ] as [(String, String, Int?)] {
            let registration = Sample.registration(
                app: app, environment: environment, receipt: Sample.receipt(metric: metric))
            _ = try await store.insert(registration, spending: Sample.challenge(), at: Sample.now)
            last = registration.id
        }
        _ = try await store.revoke(try require(last), code: nil, at: Sample.now)
        let counts = try await store.riskMetrics(app: "a", environment: "production")
        try expect(counts.map { [$0.metric, $0.keys] }, is: [[1, 2], [7, 1]])
    }
}
