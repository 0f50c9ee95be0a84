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
    private let inFlight = Mutex<RequestsInFlight?>(nil)

    /// How many refusals of one code are logged in a second.
    package static let linesPerSecond = 10

    package init(registry: PrometheusRegistry, log: Logger) {
        self.registry = registry
        self.log = log
    }

    /// Counts one answer, and logs it if it is a refusal.
    ///
    /// - Parameters:
    ///   - seconds: how long the answer took.
    ///   - uptime: seconds of a clock that never goes back.
    package func finished(
        operation: String, answer: Answer, seconds: Double, at uptime: Double, correlationId: String, evidence: String
    ) {
        registry.count(
            .requests,
            [
                ("operation", operation), ("status", String(answer.status)), ("code", answer.code?.description ?? ""),
            ])
        registry.add(min(max(0, seconds), 1e6), to: .requestDuration, [("operation", operation)])
        guard let code = answer.code else { return }
        guard let omitted = sampler.note(code.description, at: uptime) else { return }
        if omitted.count > 0 { write(omitted) }
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
        guard perMinute.note("limit.load \(operation)", at: uptime) != nil else { return }
        log.warning(
            "More requests come than the node can handle; what is too much is refused.",
            metadata: ["operation": "\(operation)"])
    }

    /// Shows from now on how many requests are in flight, and how many may be.
    package func show(_ inFlight: RequestsInFlight) { self.inFlight.withLock { $0 = inFlight } }

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

    /// All metrics as text, as they are now.
    package func scrape() -> String {
        if let inFlight = inFlight.withLock({ $0 }) {
            for (operation, count) in inFlight.all {
                set(.loadInFlight, Double(count), [("operation", operation)])
                set(.loadLimit, Double(inFlight.limit), [("operation", operation)])
            }
        }
        return registry.render()
    }
}

/// Lets the first lines of each kind in each window of time pass, and counts the others until they are summed up.
///
/// Every line is accounted for: those that passed and the sums add up to all. Kinds are codes of ours, so that the table is bounded; kinds
/// beyond ``kindLimit`` share one entry.
package final class LineSampler: Sendable {
    private struct Window {
        var number: Int
        var passed: Int
        var suppressed: Int
    }

    /// How many lines of one kind were not written.
    package typealias Sum = (kind: String, count: Int)

    /// The most kinds that are counted apart.
    package static let kindLimit = 256

    private let lines: Int
    private let window: Int
    private let windows = Mutex<[String: Window]>([:])

    /// - Parameters:
    ///   - lines: how many lines of one kind pass in one window.
    ///   - seconds: how long a window is.
    package init(_ lines: Int, every seconds: Int = 1) {
        self.lines = max(1, lines)
        window = max(1, seconds)
    }

    private func number(of uptime: Double) -> Int { Int(clamping: Int64(max(0, min(uptime, 1e15)))) / window }

    /// Counts one line.
    ///
    /// - Parameter uptime: seconds of a clock that never goes back.
    /// - Returns: nil if the line is suppressed, otherwise what was not written of its kind in an earlier window, which is to be written too. The
    ///   kinds beyond the limit are one.
    package func note(_ kind: String, at uptime: Double) -> Sum? {
        let number = number(of: uptime)
        return windows.withLock { windows in
            let kind = windows[kind] != nil || windows.count < LineSampler.kindLimit ? kind : "others"
            var window = windows[kind] ?? Window(number: number, passed: 0, suppressed: 0)
            var omitted = 0
            if window.number < number {
                omitted = window.suppressed
                window = Window(number: number, passed: 0, suppressed: 0)
            }
            defer { windows[kind] = window }
            guard window.passed < lines else {
                window.suppressed += 1
                return nil
            }
            window.passed += 1
            return (kind, omitted)
        }
    }

    /// Takes the sums of all windows that are over, and forgets their kinds; with nil all there are, at the end.
    package func sums(before uptime: Double?) -> [Sum] {
        let number = uptime.map(number(of:)) ?? Int.max
        return windows.withLock { windows in
            let over = windows.filter { $0.value.number < number }
            for kind in over.keys { windows[kind] = nil }
            return over.filter { $0.value.suppressed > 0 }.map { (kind: $0.key, count: $0.value.suppressed) }
                .sorted { $0.kind < $1.kind }
        }
    }
}
