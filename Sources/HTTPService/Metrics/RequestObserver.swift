// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import CoreMetrics
package import Logging
import Synchronization
import Vocabulary

/// Counts every answer and logs refusals: fixed sentences, codes, and evidence that ``Problem`` made safe.
///
/// Refusals of one code are logged ``linesPerSecond`` times in a second; what is beyond that is counted, and summed up in one line.
package final class RequestObserver: Sendable {
    package let registry: PrometheusRegistry
    package let log: Logger
    private let sampler = LineSampler(linesPerSecond)
    /// For lines that one in a minute is enough of.
    package let perMinute = LineSampler(1, every: 60)
    /// For lines that one in an hour is enough of.
    package let perHour = LineSampler(1, every: 3600)
    private let known = Mutex(Known())
    private let gauges = Mutex<[@Sendable () -> Void]>([])

    /// How many refusals of one code are logged in a second.
    package static let linesPerSecond = 10

    /// The series of answers, kept so that a request does not build their names again.
    private struct Known {
        var counters: [Name: Counter] = [:]
        var timers: [String: Timer] = [:]
        var counts: [Count: Counter] = [:]
    }

    private struct Name: Hashable {
        let operation: String
        let status: Int
        let code: Code?
    }

    private struct Count: Hashable {
        let label: String
        let dimensions: [String]
    }

    package init(registry: PrometheusRegistry, log: Logger) {
        self.registry = registry
        self.log = log
    }

    /// Counts one answer, and logs it if it is a refusal.
    ///
    /// - Parameters:
    ///   - seconds: how long the answer took; nil if it was refused before anybody looked at it.
    ///   - uptime: seconds of a clock that never goes back.
    package func finished(
        operation: String, answer: Answer, seconds: Double?, at uptime: Double, correlationId: String, evidence: String
    ) {
        let (counter, timer) = series(Name(operation: operation, status: answer.status, code: answer.code))
        counter.increment()
        if let seconds {
            timer.recordNanoseconds(Int64(min(max(0, seconds), 1e6) * 1e9))
        }
        guard let code = answer.code else { return }
        let verdict = sampler.note(code.description, at: uptime)
        if let sum = verdict.sum { write(sum) }
        guard verdict.passes else { return }
        var metadata: Logger.Metadata = [
            "operation": "\(operation)", "status": "\(answer.status)", "code": "\(code)",
            "correlationId": "\(correlationId)", "evidence": "\(evidence)",
        ]
        metadata.merge(answer.details.mapValues { "\($0)" }) { first, _ in first }
        log.log(
            level: answer.status >= 500 ? .error : .info, "A request was refused.", metadata: metadata)
    }

    /// Says once a minute that requests of an operation are refused because too many are in flight.
    package func noteOverload(_ operation: String, at uptime: Double) {
        guard perMinute.note("limit.load \(operation)", at: uptime).passes else { return }
        log.warning(
            "More requests come than the node can handle; what is too much is refused.",
            metadata: ["operation": "\(operation)"])
    }

    /// Shows how many requests are in flight, and how many may be.
    package func show(_ inFlight: RequestsInFlight) {
        beforeScrape {
            for (operation, count) in inFlight.all {
                self.set("http.load.inflight", Double(count), [("operation", operation)])
                self.set("http.load.limit", Double(inFlight.limit), [("operation", operation)])
            }
        }
    }

    /// Writes what was suppressed in the seconds that are over; with nil in the current one too, at the end.
    package func writeSuppressed(before uptime: Double?) {
        for sum in sampler.sums(before: uptime) { write(sum) }
    }

    private func write(_ sum: LineSampler.Sum) {
        count("log.suppressed", [("code", sum.kind)], by: sum.count)
        log.info(
            "Further refusals with this code were counted, not logged.",
            metadata: ["code": "\(sum.kind)", "count": "\(sum.count)"])
    }

    private func series(_ name: Name) -> (Counter, Timer) {
        known.withLock { known in
            let counter =
                known.counters[name]
                ?? Counter(
                    label: "sealward.http.requests",
                    dimensions: [
                        ("operation", name.operation), ("status", String(name.status)),
                        ("code", name.code?.description ?? ""),
                    ],
                    factory: registry
                )
            known.counters[name] = counter
            let timer =
                known.timers[name.operation]
                ?? Timer(
                    label: "sealward.http.request.duration", dimensions: [("operation", name.operation)],
                    factory: registry)
            known.timers[name.operation] = timer
            return (counter, timer)
        }
    }

    /// Counts something by its code.
    package func count(_ label: String, _ dimensions: [(String, String)] = [], by amount: Int = 1) {
        let name = Count(label: label, dimensions: dimensions.flatMap { [$0.0, $0.1] })
        let counter = known.withLock { known in
            if let counter = known.counts[name] { return counter }
            let counter = Counter(label: "sealward.\(label)", dimensions: dimensions, factory: registry)
            if known.counts.count < PrometheusRegistry.seriesLimit { known.counts[name] = counter }
            return counter
        }
        counter.increment(by: amount)
    }

    /// Remembers what sets gauges whose values are only asked for when somebody reads the metrics.
    package func beforeScrape(_ work: @escaping @Sendable () -> Void) { gauges.withLock { $0.append(work) } }

    /// All metrics as text, as they are now.
    package func scrape() -> String {
        for work in gauges.withLock({ $0 }) { work() }
        return registry.render()
    }

    /// Sets a value that goes up and down.
    package func set(_ label: String, _ value: Double, _ dimensions: [(String, String)] = []) {
        Meter(label: "sealward.\(label)", dimensions: dimensions, factory: registry).set(value)
    }
}
