// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import FoundationEssentials
import TrustStores

extension StoreContract {
    static let clocks: [Case] = [
        Case("a node with a fast clock blocks no other and deletes nothing, and gets a clock fault", fastClock),
        Case("the hour of a count is not taken for the time when the store was begun", countedHour),
        Case("a store with its own clock says how far a node is off", offset),
    ]

    static func fastClock(_ fixture: StoreFixture) async throws {
        let (right, wrong) = (fixture.store, try await fixture.another())
        let spent = Sample.challenge()
        try expect(try await right.spend(spent, at: Sample.now), is: .spent)
        try await right.record(StoreEvent(at: Sample.now, app: "a", kind: "k"))
        fixture.clock.advance(.seconds(60))
        let ahead = 30.0 * 86_400
        // Also where the wrong one is the first that ever sweeps, and again and again.
        for _ in 0..<5 {
            fixture.clock.advance(.seconds(60))
            let report = try await wrong.sweep(at: fixture.clock.now + ahead, keeping: Retention())
            try expect(report.total, is: 0)
            switch report.clockFault {
            case .offset(let difference)?, .jump(let difference)?: try expect(difference > .seconds(29 * 86_400))
            default: throw ContractViolation("no clock fault: \(String(describing: report.clockFault))")
            }
            let fresh = Sample.challenge(until: fixture.clock.now + 300)
            try expect(try await right.spend(fresh, at: fixture.clock.now), is: .spent)
        }
        try expect(try await right.spend(spent, at: Sample.now), is: .alreadyUsed)
        try expect(try await right.sweep(at: fixture.clock.now, keeping: Retention()).clockFault, is: nil)
        try expect(try await wrong.sweep(at: fixture.clock.now + ahead, keeping: Retention()).clockFault != nil)
        try expect(try await wrong.inspect(at: fixture.clock.now + ahead).clockFault != nil)
        try expect(try await right.inspect(at: fixture.clock.now).clockFault, is: nil)
    }

    /// A first attestation in the last minute of an hour, then the first sweep.
    static func countedHour(_ fixture: StoreFixture) async throws {
        let store = fixture.store
        try await store.add([SignalTally(app: "a", hour: Sample.now - 3597, kind: "attested")])
        try expect(try await store.spend(Sample.challenge(), at: Sample.now), is: .spent)
        try await store.record(StoreEvent(at: Sample.now, app: "a", kind: "k"))
        for _ in 0..<3 {
            fixture.clock.advance(.seconds(60))
            try expect(try await store.inspect(at: fixture.clock.now).clockFault, is: nil)
            try expect(try await store.sweep(at: fixture.clock.now, keeping: Retention()).clockFault, is: nil)
        }
        try expect(try await store.check().sweptUntil, is: fixture.clock.now - 3600)
    }

    static func offset(_ fixture: StoreFixture) async throws {
        let reading = try await fixture.store.check()
        guard fixture.hasServerClock else {
            try expect(reading.time == nil && reading.offset(of: Sample.now) == nil)
            return
        }
        try expect(reading.offset(of: Sample.now + 61), is: .seconds(61))
        try expect(reading.offset(of: Sample.now - 61), is: .seconds(-61))
        for off in [-61.0, 61] {
            let report = try await fixture.store.sweep(at: Sample.now + off, keeping: Retention())
            try expect(report.clockFault, is: .offset(.seconds(Int(off))))
        }
        try expect(try await fixture.store.sweep(at: Sample.now + 60, keeping: Retention()).clockFault, is: nil)
        try expect(try await fixture.store.check().sweptUntil, is: Sample.now - 3600)
    }
}
