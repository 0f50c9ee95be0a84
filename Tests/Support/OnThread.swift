// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Runs what blocks on a thread of its own, because tasks have few.
package func onThread<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
        Thread { continuation.resume(with: Result { try body() }) }.start()
    }
}

/// What so many calls at once give.
public func allAtOnce<Outcome: Sendable>(
    _ count: Int, _ call: @escaping @Sendable (Int) async throws -> Outcome
) async throws -> [Outcome] {
    try await withThrowingTaskGroup(of: Outcome.self) { group in
        for index in 0..<count { group.addTask { try await call(index) } }
        return try await group.reduce(into: []) { $0.append($1) }
    }
}

/// Waits until something is so, and fails after a limit.
public func eventually(
    _ what: String, within limit: Duration = .seconds(30), _ isSo: () async throws -> Bool
) async throws {
    let deadline = ContinuousClock.now + limit
    while try await !isSo() {
        guard ContinuousClock.now < deadline else { throw WaitedTooLong(what: what) }
        try await Task.sleep(for: .milliseconds(5))
    }
}

private struct WaitedTooLong: Error {
    let what: String
}
