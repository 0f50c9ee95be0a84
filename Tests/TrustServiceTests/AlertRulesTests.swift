// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import TrustStores

@testable import HTTPService
@testable import TrustService

/// The alert rules that ship, against the metrics that the service has.
@Suite struct AlertRulesTests {
    private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    private static func rules() throws -> String {
        try String(contentsOf: root.appendingPathComponent("packaging/sealward-alerts.yml"), encoding: .utf8)
    }

    /// The metrics that the rules' expressions name.
    private static func watched() throws -> Set<String> {
        let lines = try rules().split(separator: "\n").filter { $0.hasPrefix("        expr: ") }
        return Set(lines.flatMap { $0.matches(of: #/sealward_[a-z_]+/#).map { String($0.output) } })
    }

    /// What the service counts in the course of business, or only shows.
    private static let ordinary: Set<String> = [
        "assertions.accepted", "assertions.late", "attestations.accepted", "challengekeys.rotated", "challenges.issued",
        "console.sessions", "http.load.inflight", "http.load.limit", "keys.deleted", "keys.revoked",
        "observed", "promotions.granted", "quotas.drawn",
        "receipts.batch",
        "receipts.outcome", "refusals.monitored", "refusals.unexplained",
        "refusals.unwritten", "revoked.keys.listed", "secrets.rotated", "signals",
        "signals.unsupported.ratio.highest", "sweep.rows", "sweep.seconds", "tokens.issued",
        "tokens.untrusted",
        "traces.exported",
    ]

    /// The labels of all metrics in the sources of the service, apart from those of stores.
    private static func labels() throws -> (counters: Set<String>, gauges: Set<String>) {
        var (counters, gauges): (Set<String>, Set<String>) = (["http.requests"], [])
        let files = try ["TrustService", "HTTPService"].flatMap { module in
            let folder = root.appendingPathComponent("Sources/\(module)")
            return try #require(FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil))
                .compactMap { $0 as? URL }
        }
        for file in files where file.pathExtension == "swift" {
            let text = try String(contentsOf: file, encoding: .utf8)
            for match in text.matches(of: #/[ .](count|set)\(\s*"([a-z]+(?:\.[a-z]+)*)"/#) {
                if match.output.1 == "count" {
                    counters.insert(String(match.output.2))
                } else {
                    gauges.insert(String(match.output.2))
                }
            }
        }
        return (counters, gauges)
    }

    private static func name(_ label: String, isCounter: Bool) -> String {
        "sealward_" + label.replacing(".", with: "_") + (isCounter ? "_total" : "")
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
        let (counters, gauges) = try AlertRulesTests.labels()
        #expect(counters.isSuperset(of: AlertRulesTests.ordinary.subtracting(gauges)))
        var known = Set(["store.waiting", "store.set.aside"].map { AlertRulesTests.name($0, isCounter: false) })
        for (labels, isCounter) in [(counters, true), (gauges, false)] {
            known.formUnion(labels.map { AlertRulesTests.name($0, isCounter: isCounter) })
        }
        let ordinary = [true, false].flatMap { isCounter in
            AlertRulesTests.ordinary.map { AlertRulesTests.name($0, isCounter: isCounter) }
        }
        let watched = try AlertRulesTests.watched()
        #expect(watched.subtracting(known) == [], "rules for what no service counts")
        #expect(known.subtracting(watched).subtracting(ordinary) == [], "no rule")
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
        let store = InMemoryTrustStore(clock: StoreClock(uptime: { .zero }, server: { start }))
        try await RunningService.with(store: store, clock: clock) { (service: RunningService) async throws -> Void in
            _ = try await service.get("/readyz")
            let registry = PrometheusRegistry()
            let observer = StoreObserver(registry: registry, log: LogLines().logger, uptime: { 0 })
            observer.observe(StoreObservation(.waiting, value: 0))
            observer.observe(StoreObservation(.setAside, value: 0))
            let text = String(decoding: try await service.get("/metrics").body, as: UTF8.self) + registry.render()
            let shown = Set(text.matches(of: #/# TYPE ([a-z_]+) /#).map { String($0.output.1) })
            // These appear with the code or the quota that they are about.
            let byCode = ["quotas.exhausted", "log.suppressed", "receipts.refused", "receipts.refresh", "risk.alerts"]
                .map { AlertRulesTests.name($0, isCounter: true) }
            // And this one with TLS.
            let certificate = [AlertRulesTests.name("certificate.expiry.seconds", isCounter: false)]
            #expect(
                try AlertRulesTests.watched().subtracting(shown).subtracting(byCode).subtracting(certificate) == [])
            for (label, dimensions) in RequestObserver.watchedCounters {
                let labels = dimensions.map { "\($0.0)=\"\($0.1)\"" }.joined(separator: ",")
                let series = AlertRulesTests.name(label, isCounter: true) + (labels.isEmpty ? "" : "{\(labels)}")
                #expect(text.contains("\n\(series) 0\n"), "\(series)")
            }
            for kind in StoreObservation.Kind.warnings {
                #expect(text.contains("sealward_store_events_total{event=\"\(kind.name)\"} 0\n"))
            }
        }
    }
}
