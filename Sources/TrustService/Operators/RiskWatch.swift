// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Formats
import FoundationEssentials
import HTTPService
import Logging
import Synchronization
import TrustStores
import TrustTokens
import Vocabulary

/// The usual metric of each app, learned again every minute, so that a request need not ask for it.
final class MetricBaselines: Sendable {
    private let known = Mutex<[String: (baseline: MetricBaseline, hasAlert: Bool)]>([:])

    subscript(app: String) -> MetricBaseline? { known.withLock { $0[app]?.baseline } }

    /// The apps that had an alert when they were judged last.
    var appsWithAlerts: Set<String> { known.withLock { Set($0.filter(\.value.hasAlert).keys) } }

    func learn(_ baseline: MetricBaseline, hasAlert: Bool, app: String) {
        known.withLock { $0[app] = (baseline, hasAlert) }
    }
}

/// What is known of the risk of an app.
struct RiskStanding: Sendable {
    struct Metric: Sendable {
        let environment: String
        let metric: Int
        let keys: Int
    }

    /// What is out of the ordinary.
    struct Alert: Sendable {
        let code: Code
        let message: String
        /// The environment of the keys concerned, and the metric that theirs is above; nil if the alert is about no keys.
        var keys: (environment: String, threshold: Int)?
    }

    var metrics: [Metric] = []
    var support: UnsupportedReport
    var unsupportedAddresses = 0
    var attestedAddresses = 0
    var alerts: [Alert] = []
}

/// How far a key is trusted at this moment, and why not further.
struct JudgedTrust: Sendable, Equatable {
    let tier: String
    var reasons: [String] = []

    /// The members of an answer that say so.
    var members: [JSONValue.Member] {
        [.init("tier", .string(tier)), .init("reasons", .array(reasons.map(JSONValue.string)))]
    }
}

/// What is known of the risk of keys and apps, without asking anybody but the store.
struct RiskWatch: Sendable {
    let store: any TrustStore
    let apps: AppDirectory
    let sources: SystemSources
    let observer: RequestObserver
    let baselines = MetricBaselines()

    /// For how long a key is new, in seconds.
    private static let youth: TimeInterval = 3600

    /// The trust in a key, from what is known about it without asking anybody. One signal alone never makes its tier low.
    func trust(in key: StoredKey, at now: Date) async throws -> JudgedTrust {
        var signals = RiskSignals()
        signals.isNewKey = now.timeIntervalSince(key.attestedAt) < RiskWatch.youth
        signals.isRestored = key.restoredAt != nil
        signals.hasOldReceipt = key.receiptExpiresAt.map { $0 < now } ?? false
        signals.metric = key.riskMetric
        signals.baseline = baselines[key.app]
        signals.largestCounterGap = Int(key.largestGap)
        if let user = key.user {
            signals.keysOfUser = try await store.keyCount(
                ofUser: user, app: key.app, since: now.addingTimeInterval(-30 * 86_400))
        }
        let version =
            key.osVersion.flatMap { version in
                Substring(version.utf8.prefix { (0x30...0x39).contains($0) }).decimalNumber(digits: 3)
            } ?? 0
        signals.lacksExpectedExtensions = version >= 27 && key.validationCategory == nil
        signals.hasEnvironmentSurprise = key.environment == "development" && key.validationCategory == 4
        if let allowed = apps[key.app]?.settings.allowedValidationCategories, let category = key.validationCategory {
            // A key of before the list, whose app of today is allowed, as one from TestFlight that the App Store updated.
            signals.hasCategorySurprise = !allowed.contains(category)
        }
        let score = RiskScore(signals)
        return JudgedTrust(tier: score.tier.rawValue, reasons: score.reasons)
    }

    /// Takes note of the metric in a refreshed receipt.
    func noteMetric(_ metric: Int, of lease: ReceiptLease) async {
        let baseline = baselines[lease.key.app] ?? .unknown
        guard baseline.excess(of: metric) > 0 else { return }
        observer.count(.riskAlerts, [("code", Code.metricAboveBaseline.rawValue)])
        observer.log.warning(
            "A device has attested many more keys than usual.",
            metadata: ["app": "\(lease.key.app)", "key": "\(lease.key.id.logPrefix)", "metric": "\(metric)"])
        let event = StoreEvent(
            at: sources.now(), app: lease.key.app, keyId: lease.key.id, kind: EventKind.alert,
            code: Code.metricAboveBaseline.rawValue, detail: "metric \(metric), threshold \(baseline.threshold)")
        try? await store.record(event)
    }

    /// Judges every app again, for the metrics, the log and the tiers.
    func watch() async {
        var highest = 0.0
        for id in apps.all.keys.sorted() {
            guard let standing = try? await standing(of: id, at: sources.now()) else { continue }
            highest = max(highest, standing.support.recentRatio)
            for alert in standing.alerts {
                observer.count(.riskAlerts, [("code", alert.code.rawValue)])
                observer.log.warning("A risk alert is active.", metadata: ["app": "\(id)", "code": "\(alert.code)"])
            }
        }
        // Labels are codes, never ids: the app with the highest ratio is shown for all.
        observer.set(.unsupportedRatio, highest)
    }

    func standing(of app: String, at now: Date) async throws -> RiskStanding {
        let tallies = try await store.tallies(app: app, from: now.addingTimeInterval(-8 * 86_400), to: now)
        var hours: [Date: SupportCount] = [:]
        var standing = RiskStanding(support: UnsupportedMonitor.report([], at: now))
        for tally in tallies where [EventKind.unsupported, EventKind.attestedAddress].contains(tally.kind) {
            let isUnsupported = tally.kind == EventKind.unsupported
            var hour = hours[tally.hour] ?? SupportCount(hour: tally.hour, unsupported: 0, total: 0)
            hour.total += tally.count
            if isUnsupported { hour.unsupported += tally.count }
            hours[tally.hour] = hour
            guard now.timeIntervalSince(tally.hour) < UnsupportedMonitor.recent else { continue }
            if isUnsupported {
                standing.unsupportedAddresses += tally.count
            } else {
                standing.attestedAddresses += tally.count
            }
        }
        standing.support = UnsupportedMonitor.report(Array(hours.values), at: now)
        if let since = standing.support.risingSince {
            standing.alerts.append(
                .init(
                    code: .unsupportedRising,
                    message: "Since \(RFC3339.text(since)) more clients than usual report no support."))
        }
        // That of production, whose devices are users'.
        var usual = MetricBaseline.unknown
        for environment in ["production", "development"] {
            let counts = try await store.riskMetrics(app: app, environment: environment).map { ($0.metric, $0.keys) }
            standing.metrics += counts.map { RiskStanding.Metric(environment: environment, metric: $0.0, keys: $0.1) }
            let baseline = MetricBaseline(counts: counts)
            if environment == "production" { usual = baseline }
            guard let alert = baseline.alert(counts: counts) else { continue }
            standing.alerts.append(
                .init(
                    code: .brokerDevice,
                    message:
                        "\(alert.keys) \(environment) keys are on devices above the threshold \(alert.threshold); the highest metric is \(alert.highestMetric).",
                    keys: (environment, alert.threshold)))
        }
        baselines.learn(usual, hasAlert: !standing.alerts.isEmpty, app: app)
        return standing
    }
}
