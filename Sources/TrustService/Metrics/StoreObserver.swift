// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import HTTPService
package import Logging
import Synchronization
package import TrustStores
import Vocabulary

/// Turns what a store observes into metrics and log lines.
///
/// Each kind is counted in `sealward_store_events_total{event}`; a value is the gauge `sealward_store_` with the kind's name. Of each kind
/// at most one line a second is logged, with the number of those left out since the line before.
package final class StoreObserver: Sendable {
    private let counts: RequestObserver
    private let log: Logger
    private let uptime: @Sendable () -> Double
    private let lines = Mutex<[StoreObservation.Kind: Line]>([:])

    private struct Line {
        var at: Double
        var omitted = 0
    }

    /// The most bytes of a server's words in one line.
    private static let detailLimit = 300

    package init(registry: PrometheusRegistry, log: Logger, uptime: @escaping @Sendable () -> Double) {
        counts = RequestObserver(registry: registry, log: log)
        self.log = log
        self.uptime = uptime
        // At zero from the start, because an alert on an increase misses the first event of a series that begins with it.
        for kind in StoreObservation.Kind.warnings { counts.count("store.events", [("event", kind.name)], by: 0) }
    }

    /// Takes one observation, on any thread.
    package func observe(_ observation: StoreObservation) {
        let kind = observation.kind
        if let value = observation.value {
            return counts.set("store." + kind.name.replacing("-", with: "."), Double(value))
        }
        counts.count("store.events", [("event", kind.name)])
        let level: Logger.Level = kind.isWarning ? .warning : kind == .connected ? .debug : .info
        guard level >= log.logLevel, let omitted = turn(of: kind) else { return }
        var metadata: Logger.Metadata = ["event": "\(kind.name)"]
        if !observation.detail.isEmpty {
            metadata["detail"] = "\(observation.detail.terminalSafe(limit: StoreObserver.detailLimit))"
        }
        if omitted > 0 { metadata["omitted"] = "\(omitted)" }
        log.log(level: level, "\(kind.sentence)", metadata: metadata)
    }

    /// How many lines of the kind were left out before this one; nil if this one is left out too.
    private func turn(of kind: StoreObservation.Kind) -> Int? {
        let now = uptime()
        return lines.withLock { lines in
            guard let last = lines[kind], now - last.at < 1 else {
                defer { lines[kind] = Line(at: now) }
                return lines[kind]?.omitted ?? 0
            }
            lines[kind]?.omitted += 1
            return nil
        }
    }
}
