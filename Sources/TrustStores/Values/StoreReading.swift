// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials

/// What a store says about itself when it is checked.
public struct StoreReading: Sendable, Equatable {
    /// The store's own clock (PostgreSQL's); nil if it has none (SQLite, memory).
    public let time: Date?
    /// Whatever expired up to this instant may have been forgotten, so it is never spent again.
    public let sweptUntil: Date

    /// What a store reads of its clock.
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
    /// The number of the schema in the store.
    public var schema: Int
    /// The number of the schema that this program writes.
    public var expectedSchema: Int
    /// The store's clock and horizon.
    public var reading: StoreReading
    /// What is wrong with the clock or the horizon; nil if nothing is.
    public var clockFault: ClockFault?
    /// The latest expiry of any spent challenge or token; nil if none is remembered.
    public var newestExpiry: Date?
    /// How many keys are stored.
    public var keys: Int
    /// What is damaged, at most 20 sentences; empty is healthy.
    public var problems: [String]

    /// What a store found when it looked.
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
