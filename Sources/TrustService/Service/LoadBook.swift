// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Logging
import Synchronization
import Vocabulary

/// The limit on requests in flight that all listeners of the service share, with its gauges and its lines in the log.
struct LoadBook: Sendable {
    let limit: LoadLimit
    private let table: RouteTable
    private let observer: RequestObserver
    private let uptime: @Sendable () -> Double

    init(
        _ table: RouteTable, _ observer: RequestObserver, uptime: @escaping @Sendable () -> Double,
        settings: LoadSettings
    ) {
        let refusing = Mutex<Set<String>>([])
        limit = LoadLimit(operations: RequestGate.operations(of: table), settings: settings) { change in
            let isNew = refusing.withLock { names in
                change.isRefusing ? names.insert(change.operation).inserted : names.remove(change.operation) != nil
            }
            // Load that goes up and down around the limit changes this every second.
            let kind = "limit.load \(change.operation) \(change.isRefusing)"
            guard isNew, observer.perMinute.note(kind, at: uptime()).passes else { return }
            observer.log.warning(
                change.isRefusing
                    ? "More requests come than the node can handle; what is too much is refused."
                    : "Requests are no longer refused because of the load.",
                metadata: ["operation": "\(change.operation)", "limit": "\(change.limit)"])
        }
        self.table = table
        self.observer = observer
        self.uptime = uptime
        let limit = limit
        observer.beforeScrape {
            for (operation, inFlight, most) in limit.counts {
                observer.set("http.load.inflight", Double(inFlight), [("operation", operation)])
                observer.set("http.load.limit", Double(most), [("operation", operation)])
            }
        }
    }

    /// The gate for the connections of one listener.
    func gate(_ correlationIds: CorrelationIds) -> RequestGate {
        let (observer, uptime) = (observer, uptime)
        return RequestGate(limit: limit, table: table) { route in
            let correlationId = correlationIds.next()
            let answer = (route?.errors ?? .problem).answer(Problem(.limitLoad), correlationId)
            observer.finished(
                operation: route?.operation ?? "unknown", answer: answer, seconds: nil, at: uptime(),
                correlationId: correlationId, evidence: "")
            return answer
        }
    }
}
