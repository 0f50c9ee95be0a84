// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Vocabulary

@testable import TrustStores

extension MemoryState {
    mutating func sweep(at instant: Date, time: Date?, uptime: Duration, keeping retention: Retention) -> SweepReport {
        var report = SweepReport()
        let now: Int64
        let horizon: Int64
        switch limit(at: instant, time: time, uptime: uptime) {
        case .nothingStored: return report
        case .refused(let fault):
            report.clockFault = fault
            return report
        case .upTo(let edge, let names): (now, horizon) = (edge, names)
        }
        report.clockFault = StoreReading(time: time, sweptUntil: StoreTime.date(sweptUntil)).horizonFault(at: now)
        sweptUntil = max(sweptUntil, horizon)
        func edge(_ duration: Duration) -> Int64 { max(0, now - StoreTime.milliseconds(duration)) }
        func removing<Rows: Collection>(_ rows: inout Rows, _ keep: (Rows) -> Rows) -> Int {
            let before = rows.count
            rows = keep(rows)
            return before - rows.count
        }
        let oldest = StoreTime.date(edge(retention.events))
        let firstHour = edge(retention.tallies)
        let answerEdge = StoreTime.date(edge(retention.promotionAnswers))
        let openEdge = edge(retention.openClaims)
        let auditEdge = StoreTime.date(edge(retention.audit))
        report.spent = removing(&spent) { $0.filter { $0.value > horizon } }
        report.events = removing(&events) { $0.filter { $0.at >= oldest } }
        report.tallies = removing(&tallies) { $0.filter { $0.key.hour >= firstHour } }
        report.receipts = sweepReceipts(before: StoreTime.date(edge(retention.receipts)))
        report.promotionAnswers = removing(&promotions) {
            $0.filter { $0.value.answeredAt.map { $0 >= answerEdge } ?? true }
        }
        report.openClaims = removing(&promotions) {
            $0.filter { $0.value.answeredAt != nil || $0.value.leasedUntil >= openEdge }
        }
        report.openClaims += removing(&holders) {
            $0.filter { $0.value.grantedAt != nil || $0.value.leasedUntil >= openEdge }
        }
        let ahead = max(0, StoreTime.milliseconds(instant) - now)
        for (promotion, start) in retention.promotionGrants {
            let (name, edge) = (UTF8Key(promotion), StoreTime.milliseconds(start) - ahead)
            report.promotionGrants += removing(&holders) {
                $0.filter { $0.key.promotion != name || $0.value.grantedAt.map { $0 >= edge } ?? true }
            }
        }
        let quotaEdge = edge(.milliseconds(QuotaDraw.slack))
        report.quotas = removing(&quotas) { $0.filter { $0.value.endsAt >= quotaEdge } }
        report.audit = removing(&audit) { Array($0.drop { $0.entry.at < auditEdge }) }
        let firstDay = edge(retention.tombstones)
        report.tombstones = removing(&tombstones) { $0.filter { $0.value >= firstDay } }
        return report
    }

    private mutating func sweepReceipts(before edge: Date) -> Int {
        var count = 0
        for id in keys.keys {
            guard let receipts = keys[id]?.receipts, receipts.count > 1 else { continue }
            let kept = receipts.dropLast().filter { $0.storedAt >= edge } + receipts.suffix(1)
            count += receipts.count - kept.count
            keys[id]?.receipts = kept
        }
        return count
    }

    mutating func settle(at instant: Date, time: Date?) -> StoreReading {
        let now = StoreTime.milliseconds(time ?? instant)
        sweptUntil = max(0, min(max(sweptUntil, now - SpentName.slack), now))
        return StoreReading(time: time, sweptUntil: StoreTime.date(sweptUntil))
    }

    func inspect(at instant: Date, time: Date?, uptime: Duration) -> StoreInspection {
        let reading = StoreReading(time: time, sweptUntil: StoreTime.date(sweptUntil))
        var fault = reading.horizonFault(at: StoreTime.milliseconds(instant))
        // A copy, so that looking changes nothing.
        var copy = self
        if fault == nil, case .refused(let refusal) = copy.limit(at: instant, time: time, uptime: uptime) {
            fault = refusal
        }
        return StoreInspection(
            schema: 0, expectedSchema: 0, reading: reading, clockFault: fault,
            newestExpiry: spent.values.max().map(StoreTime.date), keys: keys.count, problems: [])
    }

    private mutating func limit(at instant: Date, time: Date?, uptime: Duration) -> SweepLimit {
        let oldest = [spent.values.min(), events.map { StoreTime.milliseconds($0.at) }.min()].compactMap { $0 }.min()
        return witness.limit(
            claimed: StoreTime.milliseconds(instant), sweptUntil: sweptUntil, server: time.map(StoreTime.milliseconds),
            oldest: oldest, uptime: uptime)
    }
}
