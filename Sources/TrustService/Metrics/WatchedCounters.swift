// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import HTTPService
import TrustStores
import TrustTokens
import Vocabulary

extension RequestObserver {
    /// Puts the counters that alert rules watch into the registry, at zero.
    ///
    /// Prometheus sees no increase in a series that begins with its first event, so without this the first lost entry of the audit, say,
    /// would raise no alert. The rules are in `packaging/sealward-alerts.yml`.
    func declareWatchedCounters() {
        for (label, dimensions) in RequestObserver.watchedCounters { count(label, dimensions, by: 0) }
        // Nothing was counted yet; both are set again and again.
        set("keys.untrusted", 0)
        set("receipts.batch.full", 0)
    }

    /// Labels with their dimensions. Series whose dimension is a code of a refusal are not here: those rules look at rates.
    static var watchedCounters: [(label: String, dimensions: [(String, String)])] {
        var all: [(String, [(String, String)])] = [
            ("audit.lost", []), ("challengekeys.unread", []), ("log.dropped", []), ("promotions.undecided", []),
            ("receipts.results.lost", []), ("requests.abandoned", []), ("sweep.failures", []),
            ("files.reread", [("outcome", "kept")]),
            ("risk.alerts", [("code", Code.metricAboveBaseline.rawValue)]),
            ("traces.dropped", [("reason", "queue")]), ("traces.dropped", [("reason", "receiver")]),
            ("console.signins", [("outcome", "limited")]),
            ("console.sessions.ended", [("reason", ConsoleSessions.End.replaced.rawValue)]),
        ]
        for listener in ["public", "internal"] {
            for reason in ["total", "address", "descriptors", "replaced"] {
                all.append(("http.connections.refused", [("listener", listener), ("reason", reason)]))
            }
        }
        all.append(("http.connections.ended", [("state", ConnectionHandler.failedHandshake)]))
        for phase in ConnectionHandler.Phase.allCases where phase.isCounted {
            all.append(("http.connections.ended", [("state", phase.rawValue)]))
        }
        all += ["offset", "jump", "horizon-ahead"].map { ("sweep.clock.faults", [("reason", $0)]) }
        all += KeyTrust.allCases.filter { $0 != .trusted }.map { ("keys.untrusted.used", [("reason", $0.rawValue)]) }
        let refusals = PromotionExchange.Refusal.allCases.map(\.rawValue) + ["apple", "subject-had-it"]
        return all + refusals.map { ("promotions.refused", [("reason", $0)]) }
    }
}
