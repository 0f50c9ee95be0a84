// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials

/// Apple's clock in the simulator: the wall clock, moved by an offset, or stopped at an instant.
///
/// Receipts, bits and the window of the risk metric follow this clock. Authorizations and the timestamps of requests are judged by the
/// wall clock, because the servers under test have no other: moving Apple's clock by a month must not make their tokens expire.
struct SimulatedClock: Sendable {
    private enum Mode: Sendable {
        case offset(TimeInterval)
        case stopped(Date)
    }

    private var mode = Mode.offset(0)

    /// The time that Apple's side has when the wall clock shows `wall`: from 1970 to the end of 9999, which is what its texts can say.
    func now(wall: Date) -> Date {
        let instant =
            switch mode {
            case .offset(let seconds): wall.addingTimeInterval(seconds)
            case .stopped(let instant): instant
            }
        return Date(timeIntervalSince1970: min(max(instant.timeIntervalSince1970, 0), 253_402_300_799))
    }

    /// Moves the clock forward, or back for a negative number, whether it runs or is stopped.
    mutating func advance(seconds: TimeInterval) {
        switch mode {
        case .offset(let offset): mode = .offset(offset + seconds)
        case .stopped(let instant): mode = .stopped(instant.addingTimeInterval(seconds))
        }
    }

    mutating func stop(at instant: Date) { mode = .stopped(instant) }

    mutating func run(from instant: Date, wall: Date) { mode = .offset(instant.timeIntervalSince(wall)) }

    /// Follows the wall clock again.
    mutating func follow() { mode = .offset(0) }
}

/// The text forms of an instant.
enum Timestamp {
    /// RFC 3339 in UTC with milliseconds, of an instant that ``SimulatedClock`` gave.
    static func text(_ instant: Date) -> String {
        instant.formatted(
            .iso8601.year().month().day().time(includingFractionalSeconds: true).timeZone(separator: .omitted))
    }

    /// Reads RFC 3339 with or without a fraction.
    static func read(_ text: String) -> Date? {
        let plain = Date.ISO8601FormatStyle()
        let fractional = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
        return (try? plain.parse(text)) ?? (try? fractional.parse(text))
    }
}
