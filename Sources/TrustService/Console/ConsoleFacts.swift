// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPService
import TrustStores
import TrustTokens
import Vocabulary

/// What the overview of the console shows of one app.
struct ConsoleAppFacts: Sendable {
    /// Unrevoked keys of one kind.
    struct Keys: Sendable {
        let environment: String
        let simulated: Bool
        let keys: Int
    }

    /// How often a code was given in the last 24 hours.
    struct Refusals: Sendable {
        let code: String
        let count: Int
    }

    /// What all nodes counted in an hour.
    struct Hour: Sendable {
        let start: Date
        let attested: Int
        let refused: Int
    }

    /// Attestations that were planned for an hour of the ramp, and those that came.
    struct RampHour: Sendable {
        let start: Date
        let planned: Int
        let attested: Int
    }

    /// Where the ramp of the app is.
    struct RampPosition: Sendable {
        let isPaused: Bool
        /// The share of installations, 0 to 1, that is told to attest now.
        let share: Double
        /// nil for a fixed share.
        var plan: RampPlan?
        /// Seconds of the plan that have passed; below zero before its start.
        var elapsed: Double = 0
        /// The last 24 hours, oldest first.
        var hours: [RampHour] = []
    }

    let id: String
    let mode: String
    var keys: [Keys] = []
    /// The last 24 hours, oldest first.
    var hours: [Hour] = []
    /// By all nodes, the most frequent first.
    var refusals: [Refusals] = []
    /// Clients that said they are not supported, hour by hour for 24 hours.
    var support: [SupportCount] = []
    var risk: RiskStanding
    var baseline: MetricBaseline
    /// nil if no ramp is configured.
    var ramp: RampPosition?
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

    /// How far back the store's counts are shown, hours.
    static let hours = 24

    /// - Throws: `StoreFault`.
    func app(_ app: ServedApp, at now: Date) async throws -> ConsoleAppFacts {
        let id = app.settings.id
        await signals.flush()
        let standing = try await risk.standing(of: id, at: now)
        var facts = ConsoleAppFacts(
            id: id, mode: app.settings.mode.rawValue, risk: standing, baseline: risk.baselines[id] ?? .unknown)
        facts.keys = try await store.keyCounts().filter { $0.app.hasSameBytes(as: id) }
            .map { .init(environment: $0.environment, simulated: $0.simulated, keys: $0.keys) }
        let edge = now.addingTimeInterval(-Double(ConsoleReader.hours) * 3600)
        let tallies = try await store.tallies(app: id, from: edge, to: now)
        var refusals: [String: Int] = [:]
        var (attested, refused) = ([Date: Int](), [Date: Int]())
        var support: [Date: SupportCount] = [:]
        for tally in tallies {
            switch tally.kind {
            case EventKind.refused:
                refusals[tally.code] = (refusals[tally.code] ?? 0).clampedSum(tally.count)
                refused[tally.hour] = (refused[tally.hour] ?? 0).clampedSum(tally.count)
            case EventKind.attested: attested[tally.hour] = (attested[tally.hour] ?? 0).clampedSum(tally.count)
            case EventKind.unsupported, EventKind.attestedAddress:
                let known = support[tally.hour] ?? SupportCount(hour: tally.hour, unsupported: 0, total: 0)
                support[tally.hour] = SupportCount(
                    hour: tally.hour,
                    unsupported: known.unsupported.clampedSum(tally.kind == EventKind.unsupported ? tally.count : 0),
                    total: known.total.clampedSum(tally.count))
            default: break
            }
        }
        facts.refusals = refusals.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
            .map { .init(code: $0.key, count: $0.value) }
        let hours = ConsoleReader.lastHours(now)
        facts.hours = hours.map { .init(start: $0, attested: attested[$0] ?? 0, refused: refused[$0] ?? 0) }
        facts.support = hours.map { support[$0] ?? SupportCount(hour: $0, unsupported: 0, total: 0) }
        facts.ramp = app.settings.ramp.map {
            ConsoleReader.position(of: $0.policy, hours.map { ($0, attested[$0] ?? 0) }, at: now)
        }
        return facts
    }

    /// The starts of the last 24 hours, the one that is not over included.
    static func lastHours(_ now: Date) -> [Date] {
        let last = (now.timeIntervalSince1970 / 3600).rounded(.down)
        return (0..<hours).reversed().map { Date(timeIntervalSince1970: (last - Double($0)) * 3600) }
    }

    private static func position(
        of ramp: Ramp, _ attested: [(start: Date, count: Int)], at now: Date
    ) -> ConsoleAppFacts.RampPosition {
        var position = ConsoleAppFacts.RampPosition(isPaused: ramp.isPaused, share: ramp.share(at: now))
        guard case .plan(let plan, let start) = ramp.rule, plan.dailyUsers > 1 else { return position }
        position.plan = plan
        position.elapsed = ramp.elapsed(since: start, at: now)
        position.hours = attested.map { hour in
            let from = ramp.elapsed(since: start, at: hour.start)
            let planned = plan.attested(after: from + 3600) - plan.attested(after: from)
            return .init(start: hour.start, planned: Int(exactly: planned.rounded()) ?? 0, attested: hour.count)
        }
        return position
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

extension Int {
    /// The sum, or the largest number if it is larger.
    func clampedSum(_ other: Int) -> Int {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? .max : sum
    }
}
