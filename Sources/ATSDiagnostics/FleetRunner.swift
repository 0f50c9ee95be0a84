// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

/// Checks many targets, some hundred at a time, and hands each report on as soon as it is there.
///
/// Only reports in flight are held, so memory is bounded by the concurrency and not by the number of targets.
package struct FleetRunner: Sendable {
    package let concurrency: Int
    /// Where the targets are checked, by turns; empty leaves it to the system.
    package let executors: [any TaskExecutor]
    package let diagnose: @Sendable (CheckTarget) async -> TargetReport

    package init(
        concurrency: Int,
        executors: [any TaskExecutor] = [],
        diagnose: @escaping @Sendable (CheckTarget) async -> TargetReport
    ) {
        self.concurrency = max(1, concurrency)
        self.executors = executors
        self.diagnose = diagnose
    }

    /// Runs until all targets are checked or the task is cancelled; what was in flight then is dropped.
    ///
    /// - Parameter each: called one at a time, in the order in which targets finish, with the target's place in the list.
    package func run(
        _ targets: [CheckTarget],
        each: (Int, TargetReport) async throws -> Void
    ) async throws {
        let queue = ReportQueue(targets: targets.count, capacity: concurrency)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for worker in 0..<min(concurrency, targets.count) {
                let executor = executors.isEmpty ? nil : executors[worker % executors.count]
                queue.begin()
                group.addTask(executorPreference: executor) { [diagnose] in
                    // The next target begins where the last one ended, on the same thread, while that one is written down.
                    while !Task.isCancelled, let index = queue.take() {
                        let report = await diagnose(targets[index])
                        if Task.isCancelled { break }
                        await queue.put(index, report)
                    }
                    queue.end()
                }
            }
            do {
                while let (index, report) = await queue.next() { try await each(index, report) }
            } catch {
                queue.close()
                group.cancelAll()
                throw error
            }
        }
    }
}
