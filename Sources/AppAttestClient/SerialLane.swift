// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

/// Lets one task through at a time, in the order of their coming.
actor SerialLane {
    private var isBusy = false
    private var waiting: [(number: UInt64, continuation: CheckedContinuation<Bool, Never>)] = []
    private var next: UInt64 = 0

    /// Runs the body while no other body runs.
    ///
    /// - Throws: `CancellationError` if the task is cancelled while it waits; what the body throws.
    func run<Value: Sendable>(_ body: @Sendable () async throws -> Value) async throws -> Value {
        try await enter()
        defer { leave() }
        return try await body()
    }

    private func enter() async throws {
        try Task.checkCancellation()
        guard isBusy else {
            isBusy = true
            return
        }
        let number = next
        next += 1
        let isAdmitted = await withTaskCancellationHandler {
            await withCheckedContinuation { waiting.append((number, $0)) }
        } onCancel: {
            Task { await self.cancel(number) }
        }
        guard isAdmitted else { throw CancellationError() }
    }

    private func leave() {
        if waiting.isEmpty { isBusy = false } else { waiting.removeFirst().continuation.resume(returning: true) }
    }

    private func cancel(_ number: UInt64) {
        guard let index = waiting.firstIndex(where: { $0.number == number }) else { return }
        waiting.remove(at: index).continuation.resume(returning: false)
    }
}
