// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPService
import Synchronization
import TrustStores
import Vocabulary

/// Whether this node may be sent requests: the store commits a write, its schema is this program's, and the clock is right.
final class Readiness: Sendable {
    /// Once a second: a check commits a write, so whoever may ask for readiness could keep the writer busy otherwise.
    private let checked: SharedAnswer<StoreReading>
    private let sources: SystemSources
    private let observer: RequestObserver
    private let unswept = Mutex<ClockFault?>(nil)

    init(store: any TrustStore, sources: SystemSources, observer: RequestObserver) {
        (self.sources, self.observer) = (sources, observer)
        checked = SharedAnswer(interval: .seconds(1), uptime: { .seconds(sources.uptime()) }) {
            try await store.check()
        }
    }

    /// Notes why the last sweep swept nothing; nil if it did. The node answers all the same: the store only grows.
    func note(_ fault: ClockFault?) { unswept.withLock { $0 = fault } }

    /// Why the last sweep swept nothing.
    var clockFault: ClockFault? { unswept.withLock { $0 } }

    /// Asks the store, once a second at most, however many ask here.
    ///
    /// - Returns: what the store said.
    /// - Throws: `StoreFault`; ``Problem`` `store.clock-off`.
    @discardableResult
    func check(at now: Date) async throws -> StoreReading {
        do {
            let reading = try await checked.value()
            try watchClock(reading, at: now)
            observer.set(.ready, 1)
            return reading
        } catch {
            observer.set(.ready, 0)
            throw error
        }
    }

    /// How far the clock may be off against the store, and the horizon ahead of the clock, while the node is ready.
    static let clockTolerance = StoreClock.largestOffset

    /// A store without a clock cannot say that this one was set; the uptime can.
    private func watchClock(_ reading: StoreReading, at now: Date) throws(Problem) {
        let lead = reading.horizonLead(at: now)
        observer.set(.horizonLead, lead / .seconds(1))
        let stored = reading.offset(of: now).map { $0 / .seconds(1) }
        let offset = stored ?? sources.clockStep()
        observer.set(.clockOffset, offset)
        guard abs(offset) <= Readiness.clockTolerance / .seconds(1) else {
            let seconds = Int(exactly: offset.rounded()) ?? 0
            throw Problem(
                .storeClockOff,
                evidence: stored != nil
                    ? "the clock is \(seconds) s ahead of the store's"
                    : "the clock was set by \(seconds) s since the start; set it right, or restart if it is right now")
        }
        guard lead <= Readiness.clockTolerance else {
            throw Problem(
                .storeClockOff,
                evidence: "the store's horizon is \(Int(lead / .seconds(1))) s ahead of the clock")
        }
    }
}
