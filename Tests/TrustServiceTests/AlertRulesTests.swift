// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import TrustStores

@testable import HTTPService
@testable import TrustService

/// The alert rules that ship, against the metrics that the service has.
@Suite struct AlertRulesTests {
    private static func rules() throws -> String {
        let file = BuiltProgram.repository.appendingPathComponent("packaging/sealward-alerts.yml")
        return try String(contentsOf: file, encoding: .utf8)
    }

    /// The metrics that a text names; none of them can be unknown.
    private static func metrics(in text: String) throws -> Set<Metric> {
        let names = text.matches(of: #/\b(?:sealward|probe)_[a-z_]+/#).map { String($0.output) }
        return try Set(
            Set(names).subtracting(otherNames).map { name in
                // A histogram has three names.
                let ends = ["", "_bucket", "_sum", "_count"].filter(name.hasSuffix)
                let known = ends.compactMap { Metric(rawValue: String(name.dropLast($0.utf8.count))) }.first
                return try #require(known, "\(name) is no metric")
            })
    }

    /// What looks like a metric and is none: a header's name in gateways.md.
    private static let otherNames: Set<String> = ["sealward_key"]

    /// The metrics that the rules' expressions name.
    private static func watched() throws -> Set<Metric> {
        let lines = try rules().split(separator: "\n").filter { $0.hasPrefix("        expr: ") }
        return try metrics(in: lines.joined(separator: "\n"))
    }

    /// What the service counts in the course of business, or only shows.
    private static let ordinary: Set<Metric> = [
        .assertionsAccepted, .assertionsLate, .attestationsAccepted, .challengeKeysRotated, .challengesIssued,
        .consoleSessions, .keysDeleted, .keysRevoked, .loadInFlight, .loadLimit, .observed, .promotionsGranted,
        .quotasDrawn, .receiptsBatch, .receiptsOutcome, .refusalsMonitored, .refusalsUnexplained, .refusalsUnwritten,
        .requestDuration, .revokedKeysListed, .secretsRotated, .signals, .sweepRows, .sweepSeconds, .tokensIssued,
        .tokensUntrusted, .tracesExported, .unsupportedRatio,
    ]

    /// What the exporter of checks shows, which has rules of its own.
    private static let exporter: Set<Metric> = [
        .checkCause, .checkGroup, .checkHellos, .checkLargeHello, .checkVerdict, .exporterChecks, .exporterLimit,
        .exporterRefused, .exporterRunning, .exporterShared, .probeCertificateExpiry, .probeDuration, .probeStatus,
        .probeSuccess,
    ]

    /// Rules, dashboard and documentation name the metrics of the table, and all of them.
    @Test func everyMetricIsNamedAndNoOther() throws {
        var files = [
            "packaging/sealward-alerts.yml", "packaging/sealward-ats-alerts.yml", "packaging/grafana/sealward.json",
        ]
        let docs = BuiltProgram.repository.appendingPathComponent("docs")
        files += try FileManager.default.contentsOfDirectory(atPath: docs.path).filter { $0.hasSuffix(".md") }
            .map { "docs/\($0)" }
        var named: Set<Metric> = []
        for file in files {
            let url = BuiltProgram.repository.appendingPathComponent(file)
            named.formUnion(try AlertRulesTests.metrics(in: String(contentsOf: url, encoding: .utf8)))
        }
        #expect(Set(Metric.allCases).subtracting(named) == [])
    }

    @Test func everyRuleIsWhole() throws {
        let parts = try AlertRulesTests.rules().components(separatedBy: "      - alert: ").dropFirst()
        let names = parts.compactMap { $0.split(separator: "\n").first }
        #expect(parts.count > 20 && Set(names).count == names.count)
        for part in parts {
            for field in [
                "\n        expr: ", "\n        for: ", "\n          severity: ", "\n          description: \"",
            ] { #expect(part.components(separatedBy: field).count == 2, "\(part.prefix(40)) lacks\(field)") }
            #expect(part.contains(#/severity: (critical|warning|info)\n/#), "\(part.prefix(40))")
            #expect(part.contains(#/description: "[^"]+[.]"\n/#), "\(part.prefix(40))")
        }
    }

    @Test func everyBoundAndFaultHasARuleAndEveryRuleAMetric() throws {
        let unwatched = AlertRulesTests.ordinary.union(AlertRulesTests.exporter)
        #expect(try AlertRulesTests.watched() == Set(Metric.allCases).subtracting(unwatched))
        // Every kind of a store's warnings is in a rule, and no other.
        let text = try AlertRulesTests.rules()
        let events = text.matches(of: #/store_events_total\{event=~?"([a-z|-]+)"/#)
            .flatMap { $0.output.1.split(separator: "|").map(String.init) }
        #expect(Set(events) == Set(StoreObservation.Kind.warnings.map(\.name)))
        #expect(StoreObservation.Kind.warnings.allSatisfy { $0.isWarning })
    }

    /// A counter that first appears with its first event shows no increase.
    @Test func aServiceShowsWhatIsWatchedFromItsStart() async throws {
        let clock = TestClock()
        let start = clock.now
        let store = Store.inMemory(clock: StoreClock(uptime: { .zero }, server: { start }))
        try await RunningService.with(store: store, clock: clock) { service in
            _ = try await service.get("/readyz")
            let registry = PrometheusRegistry()
            let observer = StoreObserver(registry: registry, log: LogLines().logger, uptime: { 0 })
            observer.observe(StoreObservation(.waiting, value: 0))
            observer.observe(StoreObservation(.setAside, value: 0))
            let text = String(decoding: try await service.get("/metrics").body, as: UTF8.self) + registry.render()
            let shown = Set(
                text.matches(of: #/# TYPE ([a-z_]+) /#).compactMap { Metric(rawValue: String($0.output.1)) })
            // These appear with the code or the quota that they are about, and the last one with TLS.
            let later: Set<Metric> = [
                .quotasExhausted, .logSuppressed, .receiptsRefused, .receiptsRefresh, .riskAlerts, .certificateExpiry,
            ]
            #expect(try AlertRulesTests.watched().subtracting(shown).subtracting(later) == [])
            for (metric, labels) in RequestObserver.watchedCounters {
                let labels = labels.map { "\($0.0)=\"\($0.1)\"" }.joined(separator: ",")
                let series = metric.rawValue + (labels.isEmpty ? "" : "{\(labels)}")
                #expect(text.contains("\n\(series) 0\n"), "\(series)")
            }
            for kind in StoreObservation.Kind.warnings {
                #expect(text.contains("sealward_store_events_total{event=\"\(kind.name)\"} 0\n"))
            }
        }
    }
}
