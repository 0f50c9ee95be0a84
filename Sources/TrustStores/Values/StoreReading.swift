// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials

/// What a store says about itself when it is checked.
public struct StoreReading: Sendable, Equatable {
    package let time: Date?
    package let sweptUntil: Date

    /// Makes one from its parts.
    ///
    /// - Parameters:
    ///   - time: the store's own clock (PostgreSQL's); nil if it has none (SQLite, memory).
    ///   - sweptUntil: whatever expired up to this instant may have been forgotten, so it is never spent again.
    public init(time: Date?, sweptUntil: Date) {
        self.time = time
        self.sweptUntil = sweptUntil
    }

    /// How far a node's clock is ahead of the store's, negative if it is behind; nil if the store has none.
    package func offset(of instant: Date) -> Duration? {
        time.map { .milliseconds(StoreTime.milliseconds(instant) - StoreTime.milliseconds($0)) }
    }

    /// How far the horizon is ahead of an instant: as long as that, everything is refused. Zero or less is healthy.
    package func horizonLead(at instant: Date) -> Duration {
        .milliseconds(StoreTime.milliseconds(sweptUntil) - StoreTime.milliseconds(time ?? instant))
    }
}

/// What is wrong with a clock.
public enum ClockFault: Sendable, Equatable {
    /// The node's clock differs from the store's by more than ``StoreClock/largestOffset``: positive is ahead. Nothing was swept.
    case offset(Duration)
    /// The node's clock is further ahead of what the store saw last than time can have passed while this node ran. Nothing was
    /// swept, and nothing will be until the clock is right or ``TrustStore/settleClock(at:)`` confirms it.
    case jump(Duration)
    /// The horizon is ahead of the clock, so for this long everything is refused as expired, unless
    /// ``TrustStore/settleClock(at:)`` repairs it.
    case horizonAhead(Duration)

    /// Its name in reports and metrics, and how far off the clock is, in seconds.
    package var summary: (code: String, seconds: Int) {
        switch self {
        case .offset(let offset): ("offset", Int(offset.components.seconds))
        case .jump(let jump): ("jump", Int(jump.components.seconds))
        case .horizonAhead(let lead): ("horizon-ahead", Int(lead.components.seconds))
        }
    }
}

/// What a look at the whole store found.
public struct StoreInspection: Sendable, Equatable {
    package var schema: Int
    package var expectedSchema: Int
    package var reading: StoreReading
    package var clockFault: ClockFault?
    package var newestExpiry: Date?
    package var keys: Int
    package var problems: [String]

    /// Makes one from its parts.
    ///
    /// - Parameters:
    ///   - schema: the number of the schema in the store.
    ///   - expectedSchema: the number of the schema that this program writes.
    ///   - reading: the store's clock and horizon.
    ///   - clockFault: what is wrong with the clock or the horizon; nil if nothing is.
    ///   - newestExpiry: the latest expiry of any spent challenge or token; nil if none is remembered.
    ///   - keys: how many keys are stored.
    ///   - problems: what is damaged, at most 20 sentences; empty is healthy.
    public init(
        schema: Int, expectedSchema: Int, reading: StoreReading, clockFault: ClockFault?, newestExpiry: Date?,
        keys: Int, problems: [String]
    ) {
        self.schema = schema
        self.expectedSchema = expectedSchema
        self.reading = reading
        self.clockFault = clockFault
        self.newestExpiry = newestExpiry
        self.keys = keys
        self.problems = problems
    }
}
