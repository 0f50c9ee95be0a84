// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import FoundationEssentials
import Synchronization
import Vocabulary

@testable import TrustStores

/// A store whose whole state is one value, which the simulation copies and puts back: the plainest statement of what a store does.
///
/// It keeps every promise but durability.
final class InMemoryTrustStore: TrustStore {
    private let state: Mutex<MemoryState>
    let clock: StoreClock

    /// An empty store that takes its time from `clock`.
    init(clock: StoreClock = .system) {
        self.clock = clock
        state = Mutex(MemoryState(opened: clock.uptime()))
    }

    func locked<T>(_ body: (inout sending MemoryState) throws -> sending T) throws -> sending T {
        try state.withLock { state in
            guard !state.closed else { throw StoreFault.unavailable("the store is closed") }
            return try body(&state)
        }
    }

    func secret(named name: String, orElse candidate: [UInt8]) async throws -> [UInt8] {
        try locked { state in
            let secret = state.secrets[UTF8Key(name)] ?? candidate
            state.secrets[UTF8Key(name)] = secret
            return secret
        }
    }

    func replaceSecret(named name: String, by secret: [UInt8]) async throws -> Bool {
        try locked { state in
            guard state.secrets[UTF8Key(name)] != nil else { return false }
            state.secrets[UTF8Key(name)] = secret
            return true
        }
    }

    func secretsMark() async throws -> [UInt8] {
        try locked { state in StoreSecrets.mark(state.secrets.map { ($0.key.text, $0.value) }) }
    }

    @discardableResult
    func check() async throws -> StoreReading {
        let time = clock.server.map { $0() }
        return try locked { StoreReading(time: time, sweptUntil: StoreTime.date($0.sweptUntil)) }
    }

    func inspect(at instant: Date) async throws -> StoreInspection {
        let (uptime, time) = (clock.uptime(), clock.server.map { $0() })
        return try locked { $0.inspect(at: instant, time: time, uptime: uptime) }
    }

    func settleClock(at instant: Date) async throws -> StoreReading {
        let time = clock.server.map { $0() }
        return try locked { $0.settle(at: instant, time: time) }
    }

    func close() async { state.withLock { $0.closed = true } }

    func sweep(at instant: Date, keeping retention: Retention) async throws -> SweepReport {
        let (uptime, time) = (clock.uptime(), clock.server.map { $0() })
        return try locked { $0.sweep(at: instant, time: time, uptime: uptime, keeping: retention) }
    }

    func consume(_ token: SingleUseToken, at instant: Date) async throws -> SpendOutcome {
        try locked { $0.spend(SpentName(token), at: instant) }
    }

    func draw(_ draw: QuotaDraw, at instant: Date) async throws -> QuotaOutcome {
        try locked { $0.draw(draw, at: instant) }
    }

    func insert(
        _ registration: KeyRegistration, spending challenge: SpendableChallenge, at instant: Date
    ) async throws -> InsertOutcome {
        try locked { $0.insert(registration, spending: challenge, at: instant) }
    }

    func attestationStanding(
        of id: KeyIdentifier, challenge: SpendableChallenge
    ) async throws -> (key: StoredKey?, isSpent: Bool) {
        try locked {
            (key: $0.keys[id]?.key, isSpent: $0.spent[SpentName(challenge).bytes] != nil)
        }
    }

    func key(_ id: KeyIdentifier) async throws -> StoredKey? { try locked { $0.keys[id]?.key } }

    func advance(_ advance: CounterAdvance, at instant: Date) async throws -> AdvanceOutcome {
        try locked { $0.advance(advance, at: instant) }
    }

    func revoke(_ id: KeyIdentifier, code: String?, at instant: Date) async throws -> RevokeOutcome {
        try locked { $0.revoke(id, code: code, at: instant) }
    }

    func restore(
        _ id: KeyIdentifier, revokedSince start: Date, refreshAt: Date?, at instant: Date
    ) async throws -> RestoreOutcome {
        try locked { $0.restore(id, revokedSince: start, refreshAt: refreshAt, at: instant) }
    }

    func keyCount(ofUser user: String, app: String, since instant: Date) async throws -> Int {
        try locked { state in
            state.keys.values.count {
                StoreText.areSame($0.key.user, user) && $0.key.app.hasSameBytes(as: app) && $0.key.attestedAt >= instant
            }
        }
    }

    func leaseDueReceipts(at instant: Date, limit: Int, for duration: Duration) async throws -> [ReceiptLease] {
        try locked { $0.lease(at: instant, limit: limit, for: duration) }
    }

    func complete(
        _ lease: ReceiptLease, with result: RefreshResult, at instant: Date
    ) async throws -> RefreshOutcome {
        try locked { $0.complete(lease, with: result, at: instant) }
    }

    func receipts(of id: KeyIdentifier, limit: Int) async throws -> [StoredReceipt] {
        try locked { Array(($0.keys[id]?.receipts ?? []).reversed().prefix(max(0, limit))) }
    }

    func riskMetrics(app: String, environment: String) async throws -> [(metric: Int, keys: Int)] {
        try locked { state in
            var counts: [Int: Int] = [:]
            for entry in state.keys.values
            where entry.key.app.hasSameBytes(as: app) && entry.key.environment.hasSameBytes(as: environment) {
                if let metric = entry.key.riskMetric, entry.key.revokedAt == nil { counts[metric, default: 0] += 1 }
            }
            return counts.sorted { $0.key < $1.key }.map { (metric: $0.key, keys: $0.value) }
        }
    }

    func record(_ event: StoreEvent) async throws { try locked { $0.append(event) } }

    func history(of id: KeyIdentifier, limit: Int) async throws -> [StoreEvent] {
        try locked { Array($0.events.filter { $0.keyId == id }.suffix(max(0, limit))) }
    }

    func add(_ tallies: [SignalTally]) async throws {
        try locked { state in
            for tally in tallies where tally.count > 0 { state.tallies[TallyName(tally), default: 0] += tally.count }
        }
    }

    func tallies(app: String, from start: Date, to end: Date) async throws -> [SignalTally] {
        try locked { state in
            state.tallies.filter {
                $0.key.app == UTF8Key(app) && $0.key.hour >= StoreTime.hour(start)
                    && $0.key.hour < StoreTime.milliseconds(end)
            }
            .sorted { $0.key < $1.key }
            .map {
                SignalTally(
                    app: app, hour: StoreTime.date($0.key.hour), kind: $0.key.kind.text, code: $0.key.code.text,
                    count: $0.value)
            }
        }
    }
}
