// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import CoreMetrics
import Synchronization

/// A swift-metrics backend that renders the Prometheus text format.
///
/// Names are the labels with dots as underscores. Counters end in `_total`; timers are histograms in seconds. The number of
/// series is bounded, so that a wrong dimension cannot fill the memory.
package final class PrometheusRegistry: MetricsFactory, Sendable {
    private struct Key: Hashable {
        let name: String
        let labels: String
    }

    private struct State {
        var counters: [Key: CounterSeries] = [:]
        var gauges: [Key: GaugeSeries] = [:]
        var histograms: [Key: HistogramSeries] = [:]
    }

    /// More series than this are counted in one that has the label `overflow`.
    package static let seriesLimit = 4096
    private let state = Mutex(State())

    /// An empty registry.
    package init() {}

    /// The text of all series, sorted, for a scrape.
    package func render() -> String {
        let state = state.withLock { $0 }
        var text = ""
        section("counter", state.counters.mapValues(\.value), into: &text)
        section("gauge", state.gauges.mapValues(\.value), into: &text)
        let histograms = Dictionary(grouping: state.histograms, by: \.key.name).sorted { $0.key < $1.key }
        for (name, series) in histograms {
            text += "# TYPE \(name) histogram\n"
            for (key, histogram) in series.sorted(by: { $0.key.labels < $1.key.labels }) {
                histogram.render(name: name, labels: key.labels, into: &text)
            }
        }
        return text
    }

    /// The series of one name, for people: what their labels say, and the value.
    ///
    /// - Parameter name: as it is rendered, `sealward_receipts_outcome_total`.
    package func values(of name: String) -> [(labels: String, value: Double)] {
        let state = state.withLock { $0 }
        let counters = state.counters.filter { $0.key.name == name }.map { ($0.key.labels, $0.value.value) }
        let gauges = state.gauges.filter { $0.key.name == name }.map { ($0.key.labels, $0.value.value) }
        return (counters + gauges).sorted { $0.0 < $1.0 }
    }

    private func section(_ type: String, _ values: [Key: Double], into text: inout String) {
        for (name, series) in Dictionary(grouping: values, by: \.key.name).sorted(by: { $0.key < $1.key }) {
            text += "# TYPE \(name) \(type)\n"
            for (key, value) in series.sorted(by: { $0.key.labels < $1.key.labels }) {
                text += key.labels.isEmpty ? name : "\(name){\(key.labels)}"
                text += " \(PrometheusRegistry.number(value))\n"
            }
        }
    }

    static func number(_ value: Double) -> String {
        value == value.rounded() && abs(value) < 1e15 ? String(Int(value)) : String(value)
    }

    private static func key(_ label: String, _ dimensions: [(String, String)], suffix: String = "") -> Key {
        let name = String(label.map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "_" })
        return Key(name: name.hasSuffix(suffix) ? name : name + suffix, labels: labels(dimensions))
    }

    /// What stands between the braces of a series.
    package static func labels(_ dimensions: [(String, String)]) -> String {
        dimensions.map { "\($0.0)=\"\(escape($0.1))\"" }.joined(separator: ",")
    }

    private static func escape(_ text: String) -> String {
        var escaped = ""
        for character in text {
            switch character {
            case "\\": escaped += "\\\\"
            case "\"": escaped += "\\\""
            case "\n": escaped += "\\n"
            default: escaped.append(character)
            }
        }
        return escaped
    }

    private func series<Series>(
        _ path: any WritableKeyPath<State, [Key: Series]> & Sendable, _ key: Key, _ make: () -> Series
    )
        -> Series
    {
        state.withLock { state in
            if let series = state[keyPath: path][key] { return series }
            let full = state[keyPath: path].count >= PrometheusRegistry.seriesLimit
            let key = full ? Key(name: key.name, labels: "overflow=\"true\"") : key
            if let series = state[keyPath: path][key] { return series }
            let series = make()
            state[keyPath: path][key] = series
            return series
        }
    }

    package func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        series(\.counters, PrometheusRegistry.key(label, dimensions, suffix: "_total"), CounterSeries.init)
    }

    package func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
        series(\.gauges, PrometheusRegistry.key(label, dimensions), GaugeSeries.init)
    }

    package func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
        series(\.gauges, PrometheusRegistry.key(label, dimensions), GaugeSeries.init)
    }

    package func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        series(\.histograms, PrometheusRegistry.key(label, dimensions, suffix: "_seconds"), HistogramSeries.init)
    }

    package func destroyCounter(_ handler: any CounterHandler) {}
    package func destroyMeter(_ handler: any MeterHandler) {}
    package func destroyRecorder(_ handler: any RecorderHandler) {}
    package func destroyTimer(_ handler: any TimerHandler) {}
}
