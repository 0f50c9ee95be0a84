// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import FoundationEssentials
import Vocabulary

/// How a store measures time, apart from the instants that callers pass.
public struct StoreClock: Sendable {
    /// Time since some start that never jumps and goes on while the machine sleeps.
    let uptime: @Sendable () -> Duration
    /// Stands in for the database's own clock, in tests; nil asks the database, if it has one.
    let server: (@Sendable () -> Date)?

    package init(uptime: @escaping @Sendable () -> Duration, server: (@Sendable () -> Date)? = nil) {
        self.uptime = uptime
        self.server = server
    }

    /// The machine's continuous clock, and the database's own.
    public static let system = StoreClock(uptime: { ContinuousClock.Instant.start.duration(to: .now) })

    /// A node whose clock is further off the store's sweeps nothing and is not ready.
    package static let largestOffset = Duration.seconds(60)
}

extension ContinuousClock.Instant {
    /// When this program first looked at its clock.
    fileprivate static let start = ContinuousClock.now
}

/// How far a sweep may go.
enum SweepLimit: Equatable {
    /// Names that expired up to `horizon` may go, and what is old at `now`.
    case upTo(now: Int64, horizon: Int64)
    /// Nothing has been stored yet, so nothing can be old.
    case nothingStored
    /// The clock cannot be believed.
    case refused(ClockFault)
}

/// What one open store has seen of the clock: how far time can have come since it was opened.
///
/// SQLite has no clock of its own. The horizon in the file is the last instant that all its nodes believed; from there a node's
/// clock may go on as far as time has passed while it ran, and ``tolerance`` further, so that a restart or a short stop needs nobody.
/// A larger jump is either a wrong clock or a long stop, which a program cannot tell apart: the operator does.
struct ClockWitness {
    /// Since when, in the time of ``StoreClock/uptime``.
    private let opened: Duration
    /// What the file said, and when it was so.
    private var anchor: (time: Int64, uptime: Duration)?

    /// How far the clock may be ahead of what is known: names are kept for that long after they expired, so a horizon that is wrong
    /// by less refuses nothing that is still good.
    static let tolerance = SpentName.slack

    init(opened: Duration) { self.opened = opened }

    /// Judges a sweep at `claimed`, all in milliseconds.
    ///
    /// - Parameters:
    ///   - sweptUntil: the horizon in the store; 0 before the first sweep.
    ///   - server: the store's own clock, if it has one.
    ///   - oldest: the oldest instant found in the store if it was never swept; nil if nothing is stored.
    mutating func limit(
        claimed: Int64, sweptUntil: Int64, server: Int64?, oldest: Int64?, uptime: Duration
    ) -> SweepLimit {
        if let server {
            let offset = claimed - server
            if abs(offset) > StoreTime.milliseconds(StoreClock.largestOffset) {
                return .refused(.offset(.milliseconds(offset)))
            }
            let now = min(claimed, server)
            return .upTo(now: now, horizon: max(0, now - SpentName.slack))
        }
        let known: Int64
        if sweptUntil > 0 {
            known = sweptUntil + SpentName.slack
        } else {
            guard let oldest else { return .nothingStored }
            // A row of a damaged store may name any number.
            known = min(max(0, oldest), StoreTime.latest)
        }
        var possible = anchor.map { $0.time + StoreTime.milliseconds(uptime - $0.uptime) }
        let isSettled = anchor.map { known < $0.time } ?? false
        if isSettled || possible.map({ known > $0 + ClockWitness.tolerance }) ?? true {
            // The first look; or an operator has set the clock since.
            let since = anchor == nil && sweptUntil > 0 ? opened : uptime
            anchor = (known, since)
            possible = known + StoreTime.milliseconds(uptime - since)
        }
        let jump = claimed - (possible ?? known)
        if jump > ClockWitness.tolerance { return .refused(.jump(.milliseconds(jump))) }
        return .upTo(now: claimed, horizon: max(0, claimed - SpentName.slack))
    }
}
