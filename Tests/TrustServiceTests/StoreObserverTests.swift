// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Logging
import NIOConcurrencyHelpers
import Testing
import TrustStores

@testable import HTTPService
@testable import TrustService

@Suite struct StoreObserverTests {
    @Test("each observation is counted, one line a second is logged, and nothing in it steers a terminal")
    func sampling() {
        let lines = NIOLockedValueBox<[(level: Logger.Level, text: String)]>([])
        let time = NIOLockedValueBox(10.0)
        let registry = PrometheusRegistry()
        let log = Logger(label: "test") { _ in LineRecorder(lines: lines) }
        let observer = StoreObserver(registry: registry, log: log, uptime: { time.withLockedValue { $0 } })
        for _ in 0..<500 { observer.observe(StoreObservation(.notice, detail: "NOTICE: \u{1B}[31m\nforged")) }
        observer.observe(StoreObservation(.otherServer, detail: String(repeating: "x", count: 5000)))
        #expect(lines.withLockedValue { $0.count } == 2)
        #expect(
            lines.withLockedValue {
                $0.allSatisfy { !$0.text.contains("\u{1B}") && !$0.text.contains("\n") && $0.text.utf8.count < 500 }
            }
        )
        time.withLockedValue { $0 += 1 }
        observer.observe(StoreObservation(.notice, detail: "again"))
        #expect(lines.withLockedValue { $0.last?.text.contains("omitted=499") == true && $0.last?.level == .warning })
        observer.observe(StoreObservation(.setAside, value: 3))
        observer.observe(StoreObservation(.connected))
        #expect(lines.withLockedValue { $0.count } == 3)
        let text = registry.render()
        #expect(text.contains("sealward_store_events_total{event=\"notice\"} 501"))
        #expect(text.contains("sealward_store_set_aside 3"))
    }
}

/// Keeps what is logged.
private struct LineRecorder: LogHandler {
    let lines: NIOLockedValueBox<[(level: Logger.Level, text: String)]>
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.info

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let words = (event.metadata ?? [:]).map { "\($0)=\($1)" }.sorted().joined(separator: " ")
        lines.withLockedValue { $0.append((event.level, "\(event.message) \(words)")) }
    }
}
