// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import Vocabulary

/// A score of which every point has a reason.
///
/// All signals are soft: each can be wrong about an honest user. So each counts for less than the low tier needs, and only several
/// together bring a key there.
public struct RiskScore: Sendable, Equatable {
    /// What contributed, most points first, then by code.
    public let contributions: [RiskContribution]

    /// What a backend may want to know beside the tier, by the contract's names.
    package let reasons: [String]

    /// The sum of the points, at most 100.
    public var points: Int { min(100, contributions.reduce(0) { $0 + $1.points }) }

    /// Under 20 high, under 60 standard, else low.
    public var tier: TrustTier {
        switch points {
        case ..<20: .high
        case ..<60: .standard
        default: .low
        }
    }

    /// The most points of one signal: not enough for the low tier.
    package static let largestContribution = 50

    /// Adds up what the signals say.
    public init(_ signals: RiskSignals) {
        var found: [RiskContribution] = []
        func add(_ code: Code, _ points: Int, _ message: @autoclosure () -> String) {
            if points > 0 {
                let points = min(points, RiskScore.largestContribution)
                found.append(RiskContribution(code: code, points: points, message: message()))
            }
        }
        let unsupported = min(max(0, signals.unsupportedReports), 1_000)
        add(.unsupported, min(5 * unsupported, 15), "\(unsupported) reports of an unsupported device.")
        func failures(_ kind: RiskSignals.FailureClass) -> Int { min(max(0, signals.failures[kind] ?? 0), 1_000) }
        add(
            .transientFailures, min(max(0, failures(.transient) - 10) / 2, 10),
            "\(failures(.transient)) failures that also happen to honest clients.")
        add(
            .replays, min(5 * max(0, failures(.replay) - 2), 30),
            "\(failures(.replay)) repeated counters or challenges.")
        add(.forgeries, min(15 * failures(.forgery), 50), "\(failures(.forgery)) requests that no honest app produces.")
        let keys = min(max(0, signals.keysOfUser), 1_000)
        add(.keysOfUser, min(4 * max(0, keys - 5), 40), "The user attested \(keys) keys in 30 days.")
        let users = min(max(0, signals.usersOfKey), 1_000)
        add(.usersOfKey, min(25 * max(0, users - 1), 50), "\(users) users claimed the key.")
        if let metric = signals.metric {
            let baseline = signals.baseline ?? .unknown
            let excess = baseline.excess(of: metric)
            add(
                .metricAboveBaseline, Int((min(excess, 10) * 10).rounded()),
                "The device attested about \(metric) keys in 30 days; the app's threshold is \(baseline.threshold).")
        }
        let gap = min(max(0, signals.largestCounterGap), Int(UInt32.max))
        add(
            .counterGap, gap < 100 ? 0 : gap < 10_000 ? 5 : 15,
            "The counter once jumped by \(gap): some assertions never arrived.")
        add(.environment, signals.hasEnvironmentSurprise ? 20 : 0, "A key from another environment was seen.")
        add(
            .category, signals.hasCategorySurprise ? 30 : 0,
            "The app was installed from a source through which it is not distributed.")
        add(
            .extensionsMissing, signals.lacksExpectedExtensions ? 20 : 0,
            "The device's system sends extensions, but none arrived.")
        let marks = signals.deviceMarks.sorted()
        add(.deviceMark, 30 * marks.count, "The device is marked: \(marks.joined(separator: ", ")).")
        contributions = found.sorted { ($1.points, $0.code.rawValue) < ($0.points, $1.code.rawValue) }
        reasons = TrustReason.allCases.filter { reason in
            switch reason {
            case .newKey: signals.isNewKey
            case .receiptOld: signals.hasOldReceipt
            case .riskAboveBaseline: found.contains { $0.code == .metricAboveBaseline }
            case .category: signals.hasCategorySurprise
            case .restored: signals.isRestored
            }
        }
        .map(\.rawValue)
    }
}

/// The codes of contributions and alerts, which ``RiskExplanations`` explains.
extension Code {
    static let unsupported: Code = "risk.unsupported"
    static let transientFailures: Code = "risk.failures.transient"
    static let replays: Code = "risk.failures.replay"
    static let forgeries: Code = "risk.failures.forgery"
    static let keysOfUser: Code = "risk.user.many-keys"
    static let usersOfKey: Code = "risk.key.many-users"
    package static let metricAboveBaseline: Code = "risk.metric.above-baseline"
    static let counterGap: Code = "risk.counter.gap"
    static let environment: Code = "risk.environment"
    static let category: Code = "risk.category"
    static let extensionsMissing: Code = "risk.extensions.missing"
    static let deviceMark: Code = "risk.device.marked"
    package static let brokerDevice: Code = "risk.alert.broker-device"
    package static let unsupportedRising: Code = "risk.alert.unsupported-rising"
}
