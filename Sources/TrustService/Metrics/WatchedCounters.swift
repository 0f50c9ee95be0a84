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
        for (metric, labels) in RequestObserver.watchedCounters { count(metric, labels, by: 0) }
        // Nothing was counted yet; both are set again and again.
        set(.keysUntrusted, 0)
        set(.receiptsBatchFull, 0)
    }

    /// Series with a code of a refusal are not here: those rules look at rates.
    static var watchedCounters: [(metric: Metric, labels: PrometheusRegistry.Labels)] {
        var all: [(Metric, PrometheusRegistry.Labels)] = [
            (.auditLost, []), (.challengeKeysUnread, []), (.logDropped, []), (.promotionsUndecided, []),
            (.receiptsResultsLost, []), (.requestsAbandoned, []), (.sweepFailures, []),
            (.filesReread, [("outcome", "kept")]),
            (.riskAlerts, [("code", Code.metricAboveBaseline.rawValue)]),
            (.tracesDropped, [("reason", "queue")]), (.tracesDropped, [("reason", "receiver")]),
            (.consoleSignIns, [("outcome", "limited")]),
            (.consoleSessionsEnded, [("reason", ConsoleSessions.End.replaced.rawValue)]),
        ]
        for listener in ["public", "internal"] {
            for reason in ["total", "address", "descriptors", "replaced"] {
                all.append((.connectionsRefused, [("listener", listener), ("reason", reason)]))
            }
        }
        all.append((.connectionsEnded, [("state", ConnectionHandler.failedHandshake)]))
        for phase in ConnectionHandler.Phase.allCases where phase.isCounted {
            all.append((.connectionsEnded, [("state", phase.rawValue)]))
        }
        all += ["offset", "jump", "horizon-ahead"].map { (.sweepClockFaults, [("reason", $0)]) }
        all += KeyTrust.allCases.filter { $0 != .trusted }.map { (.keysUntrustedUsed, [("reason", $0.rawValue)]) }
        let refusals = PromotionExchange.Refusal.allCases.map(\.rawValue) + ["apple", "subject-had-it"]
        return all + refusals.map { (.promotionsRefused, [("reason", $0)]) }
    }
}
