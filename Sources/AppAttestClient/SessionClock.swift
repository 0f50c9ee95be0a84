// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

/// Time and chance, as arguments: ``live``, or a test's own.
///
/// Nothing here depends on the right time of day: devices' clocks are wrong. The date only says how old a kept item is.
package struct SessionClock: Sendable {
    /// Time since any fixed instant; it goes on while the device sleeps and cannot be set.
    package var uptime: @Sendable () -> Duration
    /// Seconds since 1970 by the device's clock, right or wrong.
    package var secondsSince1970: @Sendable () -> Double
    /// Waits.
    package var sleep: @Sendable (Duration) async throws -> Void
    /// A number from 0 to 1: devices that fail together must not come back together.
    package var random: @Sendable () -> Double
}

/// Pauses that double from one failure to the next.
struct Backoff: Sendable {
    let first: Duration
    let most: Duration
    private(set) var failures = 0
    /// Not before this uptime.
    private(set) var until: Duration?

    /// Notes a failure.
    ///
    /// - Parameter atLeast: what the other side asked for.
    mutating func failed(at now: Duration, random: Double, atLeast: Duration? = nil) {
        failures = min(failures + 1, 24)
        let full = min(most, first * (1 << (failures - 1)))
        let pause = full * (0.5 + 0.5 * min(1, max(0, random)))
        until = now + max(pause, atLeast ?? .zero)
    }

    mutating func succeeded() {
        failures = 0
        until = nil
    }
}
