// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

/// How long a store keeps what it does not need for its promises.
public struct Retention: Sendable, Equatable {
    public var events: Duration = .seconds(90 * 86_400)
    public var tallies: Duration = .seconds(90 * 86_400)
    /// The newest receipt of a key is always kept.
    public var receipts: Duration = .seconds(400 * 86_400)
    public var promotionAnswers: Duration = .seconds(800 * 86_400)
    /// At most this many rows of each kind go in one sweep, so that a sweep never holds up a commit for long.
    public var rowsAtOnce = 5_000

    public init() {}
}

/// How many rows a sweep removed.
public struct SweepReport: Sendable, Equatable {
    public var spent = 0
    public var events = 0
    public var tallies = 0
    public var receipts = 0
    public var promotionAnswers = 0
    /// Whether more is waiting: sweep again.
    public var more = false

    public init() {}

    /// All rows together.
    public var total: Int { spent + events + tallies + receipts + promotionAnswers }
}
