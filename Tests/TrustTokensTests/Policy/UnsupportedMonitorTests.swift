// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import TrustTokens

@Suite struct UnsupportedMonitorTests {
    static let now = Date(timeIntervalSince1970: 1_795_000_000)

    /// A week of hours with a steady share, and a last day with another one from an hour on.
    static func hours(usual: Double, last: Double, since: Int = 12, clients: Int = 200) -> [SupportCount] {
        (0..<192).map { hour in
            let hoursAgo = 192 - hour
            // A fixed ripple in place of chance.
            let ripple = Double([-1, 0, 1, 0][hour % 4]) * (usual * Double(clients)).squareRoot()
            let share = hoursAgo <= since ? last : usual
            return SupportCount(
                hour: now - Double(hoursAgo) * 3600, unsupported: Int(share * Double(clients) + ripple), total: clients)
        }
    }

    @Test("a steady share is no alert", arguments: [0.0, 0.01, 0.05, 0.3])
    func steady(_ share: Double) {
        let report = UnsupportedMonitor.report(Self.hours(usual: share, last: share), at: Self.now)
        #expect(report.risingSince == nil)
        #expect(abs(report.recentRatio - share) < 0.02)
    }

    @Test("a sudden rise is, within hours", arguments: [(0.01, 0.10), (0.05, 0.15), (0.3, 0.7)])
    func rise(_ usual: Double, _ last: Double) throws {
        let report = UnsupportedMonitor.report(Self.hours(usual: usual, last: last), at: Self.now)
        let since = try #require(report.risingSince)
        let delay = since.timeIntervalSince(Self.now - 12 * 3600) / 3600
        #expect((0...3).contains(delay), "noticed after \(delay) hours")
        #expect(report.recentRatio > report.usualRatio)
    }

    @Test("counts that no store has are added up without an end of the process")
    func hugeCounts() {
        let hours = [
            SupportCount(hour: Self.now - 3600, unsupported: .min, total: .max),
            SupportCount(hour: Self.now - 1800, unsupported: 0, total: .max),
        ]
        #expect(UnsupportedMonitor.report(hours, at: Self.now).recentRatio == 0)
        let alert = MetricBaseline.unknown.alert(counts: [(50, .max), (60, .max)])
        #expect(alert?.keys == .max)
    }

    @Test("a fall is none, few clients are none, the order does not matter")
    func others() {
        let monitor = UnsupportedMonitor.self
        #expect(monitor.report(Self.hours(usual: 0.2, last: 0.01), at: Self.now).risingSince == nil)
        #expect(
            monitor.report([SupportCount(hour: Self.now - 3600, unsupported: 2, total: 3)], at: Self.now).risingSince
                == nil)
        #expect(monitor.report([], at: Self.now).risingSince == nil)
        let hours = Self.hours(usual: 0.02, last: 0.2)
        #expect(monitor.report(hours.shuffled(), at: Self.now) == monitor.report(hours, at: Self.now))
        #expect(SupportCount(hour: Self.now, unsupported: 9, total: 3).total == 9)
        #expect(
            monitor.report([SupportCount(hour: Self.now - 1, unsupported: 500, total: 500)], at: Self.now).risingSince
                != nil)
    }
}
