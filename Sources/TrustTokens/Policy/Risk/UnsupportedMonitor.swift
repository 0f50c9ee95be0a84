// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import FoundationEssentials
import Glibc

/// One hour of an app: how many clients said that they are not supported, among how many that came at all.
package struct SupportCount: Sendable, Equatable {
    /// The first instant of the hour.
    package var hour: Date
    /// Installations that reported App Attest as unsupported.
    package var unsupported: Int
    /// Attested and unsupported together.
    package var total: Int

    package init(hour: Date, unsupported: Int, total: Int) {
        self.hour = hour
        self.unsupported = max(0, unsupported)
        self.total = max(max(0, unsupported), total)
    }
}

/// Watches the share of unsupported clients: a sudden rise is a sign that someone pretends.
///
/// The usual share is learned from all hours older than a day. Over the last day the evidence for a doubled share against the usual
/// one is summed hour by hour, never below zero (Page's CUSUM on the log-likelihood ratio); if it passes the bar, that hour is
/// the alarm. A bar of 12 means odds of e^12, about 160 000, to one.
package enum UnsupportedMonitor {
    /// The evidence at which an alert is raised.
    package static let bar = 12.0
    /// How much of the past is judged rather than learned from, in seconds.
    package static let recent: TimeInterval = 86_400
    /// What is assumed before a hundred clients came: two in a hundred.
    package static let priorShare = 0.02

    /// Judges the hours, in any order.
    package static func report(_ hours: [SupportCount], at instant: Date) -> UnsupportedReport {
        let sorted = hours.filter { $0.hour <= instant }.sorted { $0.hour < $1.hour }
        let edge = instant.addingTimeInterval(-recent)
        let old = sorted.filter { $0.hour < edge }
        let new = sorted.filter { $0.hour >= edge }
        let (oldUnsupported, oldTotal) = sums(old)
        let (newUnsupported, newTotal) = sums(new)
        // A hundred clients' worth of the prior, so that a young app neither divides by zero nor trusts ten clients.
        let usual = min((oldUnsupported + 100 * priorShare) / (oldTotal + 100), 0.9)
        let risen = Self.risen(from: usual)
        var evidence = 0.0
        var since: Date?
        for hour in new {
            let bad = Double(hour.unsupported)
            let good = Double(hour.total) - Double(hour.unsupported)
            evidence = max(0, evidence + bad * log(risen / usual) + good * log((1 - risen) / (1 - usual)))
            if evidence > bar, since == nil { since = hour.hour }
        }
        return UnsupportedReport(
            usualRatio: usual, recentRatio: newTotal > 0 ? newUnsupported / newTotal : 0,
            risingSince: since)
    }

    /// The share against which the usual one is tested: twice as much, and two in a hundred more at least.
    package static func risen(from usual: Double) -> Double { min(max(2 * usual, usual + 0.02), 0.95) }

    private static func sums(_ hours: [SupportCount]) -> (Double, Double) {
        hours.reduce((0, 0)) { ($0.0 + Double($1.unsupported), $0.1 + Double($1.total)) }
    }
}

/// What the monitor saw.
package struct UnsupportedReport: Sendable, Equatable {
    /// The share that is usual for the app, 0 ... 1.
    package let usualRatio: Double
    /// The share of the last day, 0 ... 1.
    package let recentRatio: Double
    /// The hour in which the bar was passed, of which operators are told; nil if all is as usual.
    package let risingSince: Date?
}
