// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Crypto
public import FoundationEssentials

/// A use of a quota: an amount that a subject draws from its limit in a window.
public struct QuotaDraw: Sendable, Equatable {
    /// The name of the quota; what is counted under one name is nothing to another.
    public let quota: String
    /// Who is counted: any text, compared by its bytes.
    public let subject: String
    /// How much is used, 1 to ``limit``.
    public let cost: Int
    /// How much may be used in one window.
    public let limit: Int
    /// How long a window is, from its first draw on: a millisecond to ten years.
    public let window: Duration

    /// The most that a window can have.
    package static let largestLimit = 1_000_000_000_000
    package static let longestWindow = Duration.seconds(315_360_000)

    /// Nil if the cost is not from 1 to the limit, or limit or window is out of its range.
    package init?(quota: String, subject: String, cost: Int = 1, limit: Int, window: Duration) {
        guard (1...QuotaDraw.largestLimit).contains(limit), (1...limit).contains(cost),
            window >= .milliseconds(1), window <= QuotaDraw.longestWindow
        else { return nil }
        self.quota = quota
        self.subject = subject
        self.cost = cost
        self.limit = limit
        self.window = window
    }

    /// How far a window's end may lie beyond a whole window from now before it is taken for the trace of a wrong clock, and begun anew.
    package static let slack = SpentName.slack

    /// Under which name a store counts: 16 bytes, so that no store learns of users.
    var name: [UInt8] {
        var hash = SHA256()
        for part in [quota, subject] {
            let bytes = Array(part.utf8)
            // With its length in front, so that no two pairs are alike.
            hash.update(data: Data("\(bytes.count):".utf8))
            hash.update(data: Data(bytes))
        }
        return Array(hash.finalize().prefix(16))
    }

    /// When a window that begins now would end, in milliseconds.
    func end(from now: Int64) -> Int64 { now + StoreTime.milliseconds(window) }
}

/// The outcome of a draw.
public enum QuotaOutcome: Sendable, Equatable {
    /// It was counted; `remaining` is left until the instant.
    case drawn(remaining: Int, until: Date)
    /// It no longer fits and was not counted; a new window begins at the instant.
    case exhausted(until: Date)
}
