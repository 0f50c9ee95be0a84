// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Logging
import ServiceLifecycle
import TrustStores

/// Writes counts and sweeps the store, until the service stops.
struct Maintenance: Service {
    let core: ServiceCore

    /// Between two writes of counts.
    static let flushInterval = Duration.seconds(2)
    /// Between two sweeps.
    static let sweepInterval: TimeInterval = 60

    func run() async throws {
        var lastSweep = core.surroundings.uptime()
        while await pause(Maintenance.flushInterval) {
            await core.signals.flush()
            guard core.surroundings.uptime() - lastSweep >= Maintenance.sweepInterval else { continue }
            lastSweep = core.surroundings.uptime()
            await sweep()
            await core.watchSignals()
        }
    }

    private func sweep() async {
        do {
            var more = true
            while more {
                more = try await core.store.sweep(at: core.surroundings.now(), keeping: Retention()).more
            }
        } catch {
            core.log.warning("The store could not be swept; the next try is in a minute.")
        }
    }
}

/// Asks for due receipts at the configured pace, until the service stops.
struct ReceiptSchedule: Service {
    let worker: ReceiptWorker

    func run() async throws {
        let poll = worker.core.configuration.receipts.poll
        while await pause(poll) {
            do {
                // A full batch means that more is waiting.
                while try await worker.round() == ReceiptWorker.batch, !Task.isShuttingDownGracefully {}
            } catch {
                worker.core.log.warning("Due receipts could not be worked off; the next try is at the next poll.")
            }
        }
    }
}

/// Waits; false where the service is to stop instead.
private func pause(_ duration: Duration) async -> Bool {
    do {
        try await cancelWhenGracefulShutdown { try await Task.sleep(for: duration) }
        return true
    } catch {
        return false
    }
}
