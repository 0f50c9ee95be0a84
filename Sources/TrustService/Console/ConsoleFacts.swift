// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPService
import TrustStores
import TrustTokens
import Vocabulary

/// What the store says of one app, from all nodes.
struct ConsoleAppFacts: Sendable {
    let settings: Configuration.App
    let risk: RiskStanding
    let baseline: MetricBaseline
    /// Keys that are not revoked, by environment and kind.
    let keys: [KeyCount]
    /// The starts of the last 24 hours, the one that is not over included.
    let hours: [Date]
    /// The tallies of these hours.
    let tallies: [SignalTally]

    /// How many events of a kind each hour had.
    func counts(_ kind: String) -> [Int] {
        hours.map { hour in ConsoleText.sum(tallies.filter { $0.kind == kind && $0.hour == hour }.map(\.count)) }
    }

    /// Refusals by code, the most frequent first.
    var refusals: [(code: String, count: Int)] {
        Dictionary(grouping: tallies.filter { $0.kind == EventKind.refused }, by: \.code)
            .map { ($0.key, ConsoleText.sum($0.value.map(\.count))) }.sorted { ($1.1, $0.0) < ($0.1, $1.0) }
    }
}

extension ConsoleText {
    /// The sum of counts, or the largest number if it is larger.
    static func sum(_ counts: [Int]) -> Int {
        counts.reduce(0) { sum, count in
            let (sum, overflow) = sum.addingReportingOverflow(count)
            return overflow ? .max : sum
        }
    }
}

/// What the overview shows of the node's readiness.
struct ConsoleNodeFacts: Sendable {
    /// What keeps the node from being ready; nil if it is ready.
    var fault: Problem?
    /// nil for a store that has no clock of its own.
    var clockOffset: Duration?
    var horizonLead: Duration?
}

/// Gathers what the overview shows.
struct ConsoleReader: Sendable {
    let store: any TrustStore
    let signals: SignalBook
    let risk: RiskWatch
    let readiness: Readiness

    /// - Throws: `StoreFault`.
    func app(_ app: ServedApp, at now: Date) async throws -> ConsoleAppFacts {
        let id = app.settings.id
        await signals.flush()
        let standing = try await risk.standing(of: id, at: now)
        let last = (now.timeIntervalSince1970 / 3600).rounded(.down)
        let hours = (0..<24).reversed().map { Date(timeIntervalSince1970: (last - Double($0)) * 3600) }
        return ConsoleAppFacts(
            settings: app.settings, risk: standing, baseline: risk.baselines[id] ?? .unknown,
            keys: try await store.keyCounts().filter { $0.app.hasSameBytes(as: id) }, hours: hours,
            tallies: try await store.tallies(app: id, from: hours.first ?? now, to: now))
    }

    /// What this node knows of itself; a store that does not answer is part of it.
    func node(at now: Date) async -> ConsoleNodeFacts {
        var facts = ConsoleNodeFacts()
        do {
            let reading = try await readiness.check(at: now)
            facts.clockOffset = reading.offset(of: now)
            facts.horizonLead = reading.horizonLead(at: now)
        } catch {
            facts.fault = Problem(error)
        }
        return facts
    }
}
