// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials

@testable import TrustStores

extension MemoryState {
    struct QuotaWindow {
        var endsAt: Int64
        var used: Int
    }

    mutating func draw(_ draw: QuotaDraw, at instant: Date) -> QuotaOutcome {
        let now = StoreTime.milliseconds(instant)
        let end = draw.end(from: now)
        var window = quotas[draw.name] ?? QuotaWindow(endsAt: end, used: 0)
        if window.endsAt <= now || window.endsAt > end + QuotaDraw.slack { window = QuotaWindow(endsAt: end, used: 0) }
        guard window.used <= draw.limit - draw.cost else { return .exhausted(until: StoreTime.date(window.endsAt)) }
        window.used += draw.cost
        quotas[draw.name] = window
        return .drawn(remaining: draw.limit - window.used, until: StoreTime.date(window.endsAt))
    }
}
