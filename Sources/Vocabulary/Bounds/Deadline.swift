// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

/// Something took longer than it may.
package struct DeadlineFault: Error, Equatable {}

/// Runs work that ends, or is cancelled, within a time.
///
/// - Throws: ``DeadlineFault`` if the time was over first; whether the work had its effect is unknown then. What the work throws.
package func withDeadline<Result: Sendable>(
    _ limit: Duration, _ body: @escaping @Sendable () async throws -> Result
) async throws -> Result {
    try await withThrowingTaskGroup(of: Result?.self) { group in
        group.addTask { try await body() }
        group.addTask {
            try await Task.sleep(for: limit)
            return nil
        }
        defer { group.cancelAll() }
        guard let first = try await group.next(), let result = first else { throw DeadlineFault() }
        return result
    }
}
