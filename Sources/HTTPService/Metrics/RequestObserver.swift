// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

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
    private let gauges = Mutex<[@Sendable () -> Void]>([])

    /// How many refusals of one code are logged in a second.
    package static let linesPerSecond = 10

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
        registry.count(
            .requests,
            [
                ("operation", operation), ("status", String(answer.status)), ("code", answer.code?.description ?? ""),
            ])
        if let seconds {
            registry.add(min(max(0, seconds), 1e6), to: .requestDuration, [("operation", operation)])
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
                self.set(.loadInFlight, Double(count), [("operation", operation)])
                self.set(.loadLimit, Double(inFlight.limit), [("operation", operation)])
            }
        }
    }

    /// Writes what was suppressed in the seconds that are over; with nil in the current one too, at the end.
    package func writeSuppressed(before uptime: Double?) {
        for sum in sampler.sums(before: uptime) { write(sum) }
    }

    private func write(_ sum: LineSampler.Sum) {
        count(.logSuppressed, [("code", sum.kind)], by: sum.count)
        log.info(
            "Further refusals with this code were counted, not logged.",
            metadata: ["code": "\(sum.kind)", "count": "\(sum.count)"])
    }

    package func count(_ metric: Metric, _ labels: PrometheusRegistry.Labels = [], by amount: Int = 1) {
        registry.count(metric, labels, by: amount)
    }

    package func set(_ metric: Metric, _ value: Double, _ labels: PrometheusRegistry.Labels = []) {
        registry.set(metric, value, labels)
    }

    /// Remembers what sets gauges whose values are only asked for when somebody reads the metrics.
    package func beforeScrape(_ work: @escaping @Sendable () -> Void) { gauges.withLock { $0.append(work) } }

    /// All metrics as text, as they are now.
    package func scrape() -> String {
        for work in gauges.withLock({ $0 }) { work() }
        return registry.render()
    }
}
