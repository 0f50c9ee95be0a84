// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import FoundationEssentials

@testable import TrustStores

extension MemoryState {
    mutating func lease(at instant: Date, limit: Int, for duration: Duration) -> [ReceiptLease] {
        let now = StoreTime.milliseconds(instant)
        let due = keys.values
            .filter { entry in entry.leasedUntil <= now && entry.nextRefresh.map { $0 <= now } ?? false }
            .sorted { ($0.nextRefresh ?? 0, $0.key.id.base64) < ($1.nextRefresh ?? 0, $1.key.id.base64) }
        var leases: [ReceiptLease] = []
        for entry in due.prefix(max(0, limit)) {
            guard let newest = entry.receipts.last else { continue }
            let until = now + StoreTime.milliseconds(duration)
            keys[entry.key.id]?.leasedUntil = until
            keys[entry.key.id]?.fence += 1
            leases.append(
                ReceiptLease(
                    key: entry.key, receipt: newest.receipt, failures: entry.failures, until: StoreTime.date(until),
                    fence: entry.fence + 1))
        }
        return leases
    }

    mutating func complete(_ lease: ReceiptLease, with result: RefreshResult, at instant: Date) -> RefreshOutcome {
        guard var entry = keys[lease.key.id], entry.fence == lease.fence, entry.nextRefresh != nil,
            let newest = entry.receipts.last
        else { return .lost }
        entry.leasedUntil = 0
        // A new fence, so that one lease is completed once.
        entry.fence += 1
        let outcome: RefreshOutcome
        switch result {
        case .receipt(let record, let next):
            entry.nextRefresh = StoreTime.milliseconds(next)
            entry.failures = 0
            outcome = record.standing(after: newest.receipt)
            if outcome == .stored {
                entry.receipts.append(
                    StoredReceipt(
                        keyId: lease.key.id, receipt: record, storedAt: StoreTime.date(StoreTime.milliseconds(instant)))
                )
                if let metric = record.riskMetric { entry.key = entry.key.measured(metric) }
                entry.key = entry.key.expiring(record.expiresAt)
            }
        case .later(let next, let code):
            entry.nextRefresh = StoreTime.milliseconds(next)
            entry.failures = code == nil ? 0 : entry.failures + 1
            outcome = .rescheduled
        case .stop:
            entry.nextRefresh = nil
            outcome = .rescheduled
        }
        keys[lease.key.id] = entry
        if let event = result.event(for: lease, outcome: outcome, at: instant) { append(event) }
        return outcome
    }
}
