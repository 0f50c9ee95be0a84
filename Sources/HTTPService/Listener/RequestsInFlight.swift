// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Counts the requests of each operation that are being answered; more than the limit are refused.
///
/// Without a limit a node that gets more than it can handle answers each request later than the one before. Operations are apart, so that one
/// whose part of the store hangs takes nothing from the others.
package final class RequestsInFlight: Sendable {
    /// The most of one operation.
    package let limit: Int
    private let counts: Mutex<[String: Int]>

    /// - Parameter operations: those that are listed before their first request.
    package init(limit: Int, operations: [String]) {
        self.limit = limit
        counts = Mutex(Dictionary(operations.map { ($0, 0) }, uniquingKeysWith: { first, _ in first }))
    }

    /// How many there are of each operation.
    package var all: [String: Int] { counts.withLock { $0 } }

    /// Runs the body if there is room for another request of the operation.
    ///
    /// - Throws: ``Problem`` `limit.load` if there is none; what the body throws.
    package func count<Result>(_ operation: String, _ body: () async throws -> Result) async throws -> Result {
        let hasRoom = counts.withLock { counts in
            let count = counts[operation, default: 0]
            if count < limit { counts[operation] = count + 1 }
            return count < limit
        }
        guard hasRoom else { throw Problem.overload }
        defer { counts.withLock { $0[operation, default: 1] -= 1 } }
        return try await body()
    }
}
