// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import FoundationEssentials
import HTTPService
import Logging
import ServiceLifecycle
import TrustStores
import Vocabulary

/// Writes counts and sweeps the store, until the service stops.
struct Maintenance: Service {
    private let parts: ServiceParts

    init(_ parts: ServiceParts) { self.parts = parts }

    /// Between two writes of counts.
    var flushInterval = Duration.seconds(2)
    static let sweepInterval: TimeInterval = 60
    /// Between two looks at which keys sign challenges: shorter than the time before a new one signs (``ChallengeBook/rotationNotice``).
    var keysInterval = Duration.seconds(10)
    /// Between two counts of the keys that the configuration does not trust.
    static let countInterval: TimeInterval = 3600

    /// Three loops side by side: a sweep of many rows, or a count of many keys, must not keep the node from learning new challenge keys.
    func run() async throws {
        await withTaskGroup { group in
            group.addTask { await writeCounts() }
            group.addTask { await readKeys() }
            group.addTask { await tidy() }
        }
    }

    private func writeCounts() async {
        while await pause(flushInterval) {
            await parts.signals.flush()
            parts.observer.writeSuppressed(before: parts.sources.uptime())
            await parts.audit.recordRepeated(at: parts.sources.now())
        }
    }

    private func readKeys() async {
        while await pause(keysInterval) {
            do {
                try await parts.rereadSecrets()
            } catch {
                parts.observer.count(.challengeKeysUnread)
                parts.observer.log.warning(
                    "The secrets of the store could not be reread; the next attempt is in ten seconds.")
            }
        }
    }

    private func tidy() async {
        var lastSweep = parts.sources.uptime()
        var lastCount = -Maintenance.countInterval
        while await pause(flushInterval) {
            if parts.sources.uptime() - lastCount >= Maintenance.countInterval {
                lastCount = parts.sources.uptime()
                await countUntrusted()
            }
            guard parts.sources.uptime() - lastSweep >= Maintenance.sweepInterval else { continue }
            lastSweep = parts.sources.uptime()
            await sweep()
            await parts.risk.watch()
        }
    }

    /// Sweeps the store once, or until the service stops; what goes wrong is counted and logged.
    func sweep() async {
        let start = parts.sources.uptime()
        do {
            var more = true
            while more, !Task.isShuttingDownGracefully, !Task.isCancelled {
                let now = parts.sources.now()
                let report = try await parts.store.sweep(at: now, keeping: parts.device.retention(at: now))
                parts.readiness.note(report.clockFault)
                if let (reason, seconds) = report.clockFault?.summary {
                    parts.observer.count(.sweepClockFaults, [("reason", reason)])
                    parts.observer.log.error(
                        "The clock cannot be trusted: check it, then run `sealward store check`.",
                        metadata: ["reason": "\(reason)", "seconds": "\(seconds)"])
                }
                parts.observer.count(.sweepRows, by: report.total)
                more = report.more
            }
            parts.observer.set(.sweepSeconds, parts.sources.uptime() - start)
        } catch {
            parts.observer.count(.sweepFailures)
            parts.observer.log.warning("The store could not be swept; the next attempt is in a minute.")
        }
    }

    private func countUntrusted() async {
        let counts: [KeyCount]
        do {
            counts = try await parts.store.keyCounts()
        } catch {
            parts.observer.log.warning("The keys of the store could not be counted; the next attempt is in an hour.")
            return
        }
        var total = 0
        for kind in counts where kind.keys > 0 {
            let names = parts.apps[kind.app]?.settings.environments.map(\.rawValue) ?? []
            let simulatorMissing = kind.simulated && !(parts.apps[kind.app]?.verifiers.trustsSimulator ?? false)
            guard !names.contains(kind.environment) || simulatorMissing else { continue }
            total += kind.keys
            parts.observer.log.warning(
                "The store has keys that the configuration does not trust; they are refused.",
                metadata: [
                    "app": "\(kind.app.terminalSafe(limit: 64))", "environment": "\(kind.environment)",
                    "simulated": "\(kind.simulated)", "keys": "\(kind.keys)",
                ]
            )
        }
        parts.observer.set(.keysUntrusted, Double(total))
    }
}
