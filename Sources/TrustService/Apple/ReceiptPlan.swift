// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials

/// When receipts are asked for.
struct ReceiptPlan: Sendable {
    let settings: Configuration.Receipts

    /// When a receipt is asked for next: never before field 19, and spread by key so that a burst does not come back as one.
    func next(after earliest: Date?, key: [UInt8], at now: Date) -> Date? {
        guard settings.refresh else { return nil }
        let wait = settings.refreshAfter.inSeconds
        let share = key.prefix(4).reduce(0.0) { $0 * 256 + Double($1) } / 4_294_967_296
        let next = now.addingTimeInterval(wait * (1 + share / 10))
        return max(next, earliest ?? next)
    }
}
