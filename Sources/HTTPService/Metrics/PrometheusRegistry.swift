// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Counts and values, and the text in which Prometheus reads them.
///
/// The number of series is bounded, so that a wrong label cannot fill the memory.
package final class PrometheusRegistry: Sendable {
    /// The labels of a series with their values.
    package typealias Labels = [(String, String)]

    /// A metric with labels: what one value or histogram is kept for.
    private struct Series: Hashable {
        let metric: Metric
        /// Names and values in turns.
        let labels: [String]

        /// The labels with their values.
        var pairs: Labels { stride(from: 0, to: labels.count - 1, by: 2).map { (labels[$0], labels[$0 + 1]) } }

        /// The labels and more of them in braces; empty without labels.
        func text(_ more: Labels = []) -> String {
            let pairs = pairs + more
            if pairs.isEmpty { return "" }
            return "{" + pairs.map { "\($0.0)=\"\(PrometheusRegistry.escape($0.1))\"" }.joined(separator: ",") + "}"
        }
    }

    /// Durations in seconds, counted in fixed classes.
    private struct Histogram {
        static let bounds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

        var counts = [Int](repeating: 0, count: Histogram.bounds.count)
        var sum = 0.0
        var count = 0

        mutating func add(_ seconds: Double) {
            sum += seconds
            count &+= 1
            if let index = Histogram.bounds.firstIndex(where: { seconds <= $0 }) { counts[index] &+= 1 }
        }
    }

    private struct State {
        var values: [Series: Double] = [:]
        var histograms: [Series: Histogram] = [:]
    }

    /// More series than this are counted in one of their metric that has the label `overflow`.
    package static let seriesLimit = 4096
    private let state = Mutex(State())

    /// An empty registry.
    package init() {}

    /// Adds to a count.
    package func count(_ metric: Metric, _ labels: Labels = [], by amount: Int = 1) {
        change(\.values, metric, labels, from: 0) { $0 += Double(amount) }
    }

    /// Sets a value that goes up and down.
    package func set(_ metric: Metric, _ value: Double, _ labels: Labels = []) {
        change(\.values, metric, labels, from: 0) { $0 = value }
    }

    /// Adds a duration to a histogram.
    func add(_ seconds: Double, to metric: Metric, _ labels: Labels) {
        change(\.histograms, metric, labels, from: Histogram()) { $0.add(seconds) }
    }

    private func change<Value>(
        _ path: WritableKeyPath<State, [Series: Value]>, _ metric: Metric, _ labels: Labels,
        from start: Value, _ body: (inout Value) -> Void
    ) {
        let series = Series(metric: metric, labels: labels.flatMap { [$0.0, $0.1] })
        state.withLock { state in
            let isFull =
                state[keyPath: path].count >= PrometheusRegistry.seriesLimit && state[keyPath: path][series] == nil
            let series = isFull ? Series(metric: metric, labels: ["overflow", "true"]) : series
            body(&state[keyPath: path][series, default: start])
        }
    }

    /// The counts of a metric, with the values of their labels by name.
    package func counts(of metric: Metric) -> [(labels: [String: String], count: Double)] {
        state.withLock { $0.values.filter { $0.key.metric == metric } }.map { series, value in
            (Dictionary(series.pairs, uniquingKeysWith: { first, _ in first }), value)
        }
    }

    /// The text of all series, sorted, for a scrape.
    package func render() -> String {
        let state = state.withLock { $0 }
        var text = ""
        for (metric, series) in PrometheusRegistry.sorted(state.values) {
            text += "# TYPE \(metric.rawValue) \(metric.isCount ? "counter" : "gauge")\n"
            for (_, labels, value) in series {
                text += "\(metric.rawValue)\(labels) \(PrometheusRegistry.number(value))\n"
            }
        }
        for (metric, series) in PrometheusRegistry.sorted(state.histograms) {
            text += "# TYPE \(metric.rawValue) histogram\n"
            for (series, labels, histogram) in series {
                var below = 0
                for (bound, count) in zip(Histogram.bounds, histogram.counts) {
                    below &+= count
                    let bucket = series.text([("le", PrometheusRegistry.number(bound))])
                    text += "\(metric.rawValue)_bucket\(bucket) \(below)\n"
                }
                text += "\(metric.rawValue)_bucket\(series.text([("le", "+Inf")])) \(histogram.count)\n"
                text += "\(metric.rawValue)_sum\(labels) \(histogram.sum)\n"
                text += "\(metric.rawValue)_count\(labels) \(histogram.count)\n"
            }
        }
        return text
    }

    /// By metric, counts first, then by the text of the labels, which is given with each series.
    private static func sorted<Value>(_ all: [Series: Value]) -> [(Metric, [(Series, String, Value)])] {
        Dictionary(grouping: all, by: \.key.metric)
            .sorted { ($0.key.isCount ? 0 : 1, $0.key.rawValue) < ($1.key.isCount ? 0 : 1, $1.key.rawValue) }
            .map { metric, series in (metric, series.map { ($0.key, $0.key.text(), $0.value) }.sorted { $0.1 < $1.1 }) }
    }

    /// A value as Prometheus reads it: whole numbers without a fraction.
    private static func number(_ value: Double) -> String {
        value == value.rounded() && abs(value) < 1e15 ? String(Int(value)) : String(value)
    }

    /// The value of a label between quotation marks.
    private static func escape(_ text: String) -> String {
        text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"").replacing("\n", with: "\\n")
    }
}
