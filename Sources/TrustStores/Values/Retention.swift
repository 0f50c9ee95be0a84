// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials

/// How long a store keeps what it does not need for its promises.
public struct Retention: Sendable, Equatable {
    /// How long events are kept.
    public var events: Duration = .seconds(90 * 86_400)
    /// How long hourly counts are kept.
    public var tallies: Duration = .seconds(90 * 86_400)
    /// The newest receipt of a key is always kept.
    public var receipts: Duration = .seconds(400 * 86_400)
    /// How long the answers to promotion claims are kept.
    public var promotionAnswers: Duration = .seconds(800 * 86_400)
    /// How long claims are kept that never got an answer: those whose holder vanished.
    public var openClaims: Duration = .seconds(7 * 86_400)
    /// How long audit entries are kept.
    public var audit: Duration = .seconds(800 * 86_400)
    /// How long it is known, counted from the day of the revocation, that a deleted key was revoked.
    public var tombstones: Duration = .seconds(800 * 86_400)
    /// Promotions, each with the instant before which its grants no longer count. Grants of all others are kept forever.
    public var promotionGrants: [String: Date] = [:]
    /// At most this many rows of each kind go in one sweep, so that a sweep never holds up a commit for long.
    public var rowsAtOnce = 5_000

    package init() {}
}

/// How many rows a sweep removed.
public struct SweepReport: Sendable, Equatable {
    /// Rows of expired challenges and tokens.
    public var spent = 0
    /// Rows of events.
    public var events = 0
    /// Rows of hourly counts.
    public var tallies = 0
    /// Rows of superseded receipts.
    public var receipts = 0
    /// Rows of answers to promotion claims.
    public var promotionAnswers = 0
    /// Rows of promotion claims that never got an answer.
    public var openClaims = 0
    /// Rows of promotion grants that no longer counted.
    public var promotionGrants = 0
    /// Rows of quotas whose window was over.
    public var quotas = 0
    /// Rows of audit entries.
    public var audit = 0
    /// Rows of revoked keys that were deleted.
    public var tombstones = 0
    /// What is wrong with the clock; nil if nothing is. Nothing was swept if it is an offset or a jump.
    public var clockFault: ClockFault?
    /// Whether more is waiting: sweep again.
    public var more = false

    /// A sweep that has removed nothing yet.
    public init() {}

    /// All rows together.
    package var total: Int {
        spent + events + tallies + receipts + promotionAnswers + openClaims + promotionGrants + quotas + audit
            + tombstones
    }
}
