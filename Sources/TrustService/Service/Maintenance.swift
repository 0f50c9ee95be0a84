// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPService
import Logging
import ServiceLifecycle
import TrustStores

/// Writes counts and sweeps the store, until the service stops.
struct Maintenance: Service {
    let store: any TrustStore
    let challenges: ChallengeBook
    let signals: SignalBook
    let risk: RiskWatch
    let untrusted: UntrustedKeys
    let device: DeviceBits
    let readiness: Readiness
    let sources: SystemSources
    let observer: RequestObserver
    let log: Logger
    private let audit: AuditRecord
    private let rereadSecrets: @Sendable () async throws -> Void

    init(_ parts: ServiceParts) {
        (store, challenges, signals, risk) = (parts.store, parts.challenges, parts.signals, parts.risk)
        (readiness, sources, observer, log) = (parts.readiness, parts.sources, parts.observer, parts.log)
        untrusted = UntrustedKeys(store: store, apps: parts.apps, observer: observer, log: log)
        device = parts.device
        audit = parts.audit
        rereadSecrets = { try await parts.rereadSecrets() }
    }

    /// Between two writes of counts.
    var flushInterval = Duration.seconds(2)
    /// Between two sweeps.
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
            await signals.flush()
            observer.writeSuppressed(before: sources.uptime())
            await audit.recordRepeated(at: sources.now())
        }
    }

    private func readKeys() async {
        while await pause(keysInterval) { await readChallengeKeys() }
    }

    private func tidy() async {
        var lastSweep = sources.uptime()
        var lastCount = -Maintenance.countInterval
        while await pause(flushInterval) {
            if sources.uptime() - lastCount >= Maintenance.countInterval {
                lastCount = sources.uptime()
                await untrusted.warn()
            }
            guard sources.uptime() - lastSweep >= Maintenance.sweepInterval else { continue }
            lastSweep = sources.uptime()
            await sweep()
            await risk.watch()
        }
    }

    /// Sweeps the store once, or until the service stops; what goes wrong is counted and logged.
    func sweep() async {
        let start = sources.uptime()
        do {
            var more = true
            while more, !Task.isShuttingDownGracefully, !Task.isCancelled {
                let now = sources.now()
                let report = try await store.sweep(at: now, keeping: device.retention(at: now))
                readiness.note(report.clockFault)
                if let fault = report.clockFault { tell(fault) }
                observer.count(.sweepRows, by: report.total)
                more = report.more
            }
            observer.set(.sweepSeconds, sources.uptime() - start)
        } catch {
            observer.count(.sweepFailures)
            log.warning("The store could not be swept; the next attempt is in a minute.")
        }
    }

    private func tell(_ fault: ClockFault) {
        let (reason, seconds) = fault.summary
        observer.count(.sweepClockFaults, [("reason", reason)])
        log.error(
            "The clock cannot be trusted: check it, then run `sealward store check`.",
            metadata: ["reason": "\(reason)", "seconds": "\(seconds)"])
    }

    private func readChallengeKeys() async {
        do {
            try await rereadSecrets()
        } catch {
            observer.count(.challengeKeysUnread)
            log.warning("The secrets of the store could not be reread; the next attempt is in ten seconds.")
        }
    }
}

/// Asks for due receipts at the configured pace, until the service stops.
struct ReceiptSchedule: Service {
    let worker: ReceiptWorker

    func run() async throws {
        let poll = worker.plan.settings.poll
        while await pause(poll) {
            do {
                // A full batch means that more is waiting.
                while try await worker.round() == ReceiptWorker.batch, !Task.isShuttingDownGracefully {}
            } catch {
                worker.log.warning("Due receipts could not be refreshed; the next attempt is at the next poll.")
            }
        }
    }
}
