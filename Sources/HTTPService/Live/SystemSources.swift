// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import FoundationEssentials
import Vocabulary

/// Where the service gets the time and random bytes: it reads them nowhere else.
package struct SystemSources: Sendable {
    package var now: @Sendable () -> Date
    /// Random bytes fit for keys.
    package var random: @Sendable (Int) -> [UInt8]
    /// Seconds of a clock that never goes back.
    package var uptime: @Sendable () -> Double
    /// By how many seconds the time of day was set since the start: positive is forward.
    package var clockStep: @Sendable () -> Double = { 0 }

    /// The name of a request: random, so that nobody can count from it the requests of others. Two equal ones among a million are less likely than
    /// one in a billion.
    package func correlationId() -> String { Base64.encodeURL(random(9)) }

    /// The machine's own.
    package static let live: SystemSources = {
        let (start, begin) = (ContinuousClock.now, Date())
        return SystemSources(
            now: { Date() },
            random: { count in
                let words = (0..<(count + 7) / 8).map { _ in UInt64.random(in: .min ... .max) }
                return (0..<count).map { UInt8(truncatingIfNeeded: words[$0 / 8] >> UInt64($0 % 8 * 8)) }
            },
            uptime: { (ContinuousClock.now - start) / .seconds(1) },
            clockStep: { Date().timeIntervalSince(begin) - (ContinuousClock.now - start) / .seconds(1) }
        )
    }()
}
