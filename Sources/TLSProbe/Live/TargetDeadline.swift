// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

/// When the time for the target is over that the current task checks: look-ups, hellos, fetched certificates, load and redirects share it.
package enum TargetDeadline {
    /// Nil while no target has one.
    @TaskLocal package static var end: ContinuousClock.Instant?

    /// What is left, at most `limit`; never below zero.
    package static func remaining(atMost limit: Duration) -> Duration {
        guard let end else { return limit }
        return max(.zero, min(limit, end - .now))
    }

    /// Runs `body` with a deadline after `limit`, or with the one that holds already if that is earlier.
    package static func within<Result>(_ limit: Duration, _ body: () async throws -> Result) async rethrows -> Result {
        let own = ContinuousClock.now + limit
        return try await $end.withValue(end.map { min($0, own) } ?? own) { try await body() }
    }
}
