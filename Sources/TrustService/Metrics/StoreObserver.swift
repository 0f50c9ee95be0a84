// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import HTTPService
package import Logging
package import TrustStores
import Vocabulary

/// Turns what a store observes into metrics and log lines.
///
/// Observations with a value set a gauge; the others are counted in `sealward_store_events_total{event}`. Each kind is logged once a second at
/// most, with the number of lines left out since the last one.
package final class StoreObserver: Sendable {
    private let registry: PrometheusRegistry
    private let log: Logger
    private let uptime: @Sendable () -> Double
    private let sampler = LineSampler(1)

    /// The most bytes of a server's words in one line.
    private static let detailLimit = 300

    package init(registry: PrometheusRegistry, log: Logger, uptime: @escaping @Sendable () -> Double) {
        self.registry = registry
        self.log = log
        self.uptime = uptime
        // At zero from the start, because an alert on an increase misses the first event of a series that begins with it.
        for kind in StoreObservation.Kind.warnings { registry.count(.storeEvents, [("event", kind.name)], by: 0) }
    }

    /// Takes one observation, on any thread.
    package func observe(_ observation: StoreObservation) {
        let kind = observation.kind
        if let value = observation.value {
            return registry.set(kind == .setAside ? .storeSetAside : .storeWaiting, Double(value))
        }
        registry.count(.storeEvents, [("event", kind.name)])
        let level: Logger.Level = kind.isWarning ? .warning : kind == .connected ? .debug : .info
        guard level >= log.logLevel else { return }
        guard let omitted = sampler.note(kind.name, at: uptime()) else { return }
        var metadata: Logger.Metadata = ["event": "\(kind.name)"]
        if !observation.detail.isEmpty {
            metadata["detail"] = "\(observation.detail.terminalSafe(limit: StoreObserver.detailLimit))"
        }
        if omitted.count > 0 { metadata["omitted"] = "\(omitted.count)" }
        log.log(level: level, "\(kind.sentence)", metadata: metadata)
    }
}
