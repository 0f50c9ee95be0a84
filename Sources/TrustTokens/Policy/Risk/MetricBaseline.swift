// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

/// How many keys the devices of an app usually attest in 30 days.
///
/// The metric comes once for each key, so a device with forty keys would count forty times; each key therefore weighs one over its
/// metric, which comes to one for each device. The median over devices stays where it is however many keys few devices make.
package struct MetricBaseline: Sendable, Equatable {
    /// The usual metric of a device.
    package let median: Int
    /// Above this metric a device is out of the ordinary: four times the usual, and never under 8, because reinstalling, several
    /// users and developers' devices are ordinary.
    package let threshold: Int

    /// Where nothing is known yet.
    package static let unknown = MetricBaseline(counts: [])

    /// Takes how many keys have which metric; metrics under 1 count as 1.
    package init(counts: [(metric: Int, keys: Int)]) {
        let weights = counts.filter { $0.keys > 0 }
            .map { (metric: max(1, $0.metric), weight: Double($0.keys) / Double(max(1, $0.metric))) }
            .sorted { $0.metric < $1.metric }
        let total = weights.reduce(0) { $0 + $1.weight }
        var passed = 0.0
        var median = 1
        for entry in weights {
            passed += entry.weight
            median = entry.metric
            if passed * 2 >= total { break }
        }
        self.median = median
        threshold = max(8, median.multipliedReportingOverflow(by: 4).overflow ? .max : median * 4)
    }

    /// How far a metric is above the threshold: 0 at or below it, 1 and more above, growing with the ratio.
    package func excess(of metric: Int) -> Double {
        metric <= threshold ? 0 : Double(metric) / Double(threshold) + 1
    }

    /// The devices above the threshold, if there are any: the sign of one device that serves many users.
    ///
    /// A metric that fewer keys have than it names is believed all the same: the other keys were attested elsewhere or not stored.
    package func alert(counts: [(metric: Int, keys: Int)]) -> BrokerAlert? {
        let above = counts.filter { $0.metric > threshold && $0.keys > 0 }
        guard let highest = above.map(\.metric).max() else { return nil }
        return BrokerAlert(
            highestMetric: highest, threshold: threshold,
            keys: above.reduce(0) { sum, entry in
                let (sum, overflow) = sum.addingReportingOverflow(entry.keys)
                return overflow ? .max : sum
            })
    }
}

/// Devices that attest far more keys than the app's devices usually do.
package struct BrokerAlert: Sendable, Equatable {
    package let highestMetric: Int
    /// The metric from which on a device counts as a broker.
    package let threshold: Int
    /// The keys of this app on such devices.
    package let keys: Int
}
