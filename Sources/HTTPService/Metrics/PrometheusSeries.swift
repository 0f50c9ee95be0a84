// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import CoreMetrics
import Synchronization

/// A count that only grows.
final class CounterSeries: CounterHandler, Sendable {
    private let box = Mutex<Int64>(0)

    var value: Double { Double(box.withLock { $0 }) }

    func increment(by amount: Int64) { box.withLock { $0 = $0.addingReportingOverflow(amount).partialValue } }

    func reset() { box.withLock { $0 = 0 } }
}

/// A value that goes up and down.
final class GaugeSeries: MeterHandler, RecorderHandler, Sendable {
    private let box = Mutex<Double>(0)

    var value: Double { box.withLock { $0 } }

    func set(_ value: Int64) { set(Double(value)) }
    func set(_ value: Double) { box.withLock { $0 = value } }
    func increment(by amount: Double) { box.withLock { $0 += amount } }
    func decrement(by amount: Double) { box.withLock { $0 -= amount } }
    func record(_ value: Int64) { set(value) }
    func record(_ value: Double) { set(value) }
}

/// Durations in seconds, counted in fixed classes.
final class HistogramSeries: TimerHandler, Sendable {
    private static let bounds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

    private struct State {
        var counts = [Int](repeating: 0, count: HistogramSeries.bounds.count)
        var sum = 0.0
        var count = 0
    }

    private let box = Mutex(State())

    func recordNanoseconds(_ duration: Int64) {
        let seconds = Double(duration) * 1e-9
        box.withLock { state in
            state.sum += seconds
            state.count += 1
            if let index = HistogramSeries.bounds.firstIndex(where: { seconds <= $0 }) { state.counts[index] += 1 }
        }
    }

    func render(name: String, labels: String, into text: inout String) {
        let state = box.withLock { $0 }
        let prefix = labels.isEmpty ? "" : labels + ","
        var below = 0
        for (bound, count) in zip(HistogramSeries.bounds, state.counts) {
            below += count
            text += "\(name)_bucket{\(prefix)le=\"\(PrometheusRegistry.number(bound))\"} \(below)\n"
        }
        text += "\(name)_bucket{\(prefix)le=\"+Inf\"} \(state.count)\n"
        let braces = labels.isEmpty ? "" : "{\(labels)}"
        text += "\(name)_sum\(braces) \(state.sum)\n\(name)_count\(braces) \(state.count)\n"
    }
}
