// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Findings
import Foundation
import TrustStores

/// Whether this node may be sent requests: the store commits a write, its schema is this program's, and the clock is right.
struct Readiness: Sendable {
    let probe: StoreProbe
    let observer: RequestObserver

    /// Asks the store, once a second at most, however many ask here.
    ///
    /// - Returns: what the store said.
    /// - Throws: `StoreFault`; ``Problem`` `store.clock-off`.
    @discardableResult
    func check(at now: Date) async throws -> StoreReading {
        do {
            let reading = try await probe.check()
            try watchClock(reading, at: now)
            observer.set("ready", 1)
            return reading
        } catch {
            observer.set("ready", 0)
            throw error
        }
    }

    /// How far the clock may be off against the store, and the horizon ahead of the clock, while the node is ready.
    static let clockTolerance = StoreClock.largestOffset

    private func watchClock(_ reading: StoreReading, at now: Date) throws(Problem) {
        let lead = reading.horizonLead(at: now)
        observer.set("horizon.lead.seconds", lead.inSeconds)
        if let offset = reading.offset(of: now) {
            observer.set("clock.offset.seconds", offset.inSeconds)
            guard abs(offset.inSeconds) <= Readiness.clockTolerance.inSeconds else {
                throw Problem(
                    .storeClockOff, retryAfterSeconds: 5,
                    evidence: "the clock is \(Int(offset.inSeconds)) s ahead of the store's")
            }
        }
        guard lead <= Readiness.clockTolerance else {
            throw Problem(
                .storeClockOff, retryAfterSeconds: 5,
                evidence: "the store's horizon is \(Int(lead.inSeconds)) s ahead of the clock")
        }
    }
}
