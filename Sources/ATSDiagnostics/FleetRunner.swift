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
    ) async rethrows {
        try await withThrowingTaskGroup(of: (Int, TargetReport)?.self) { group in
            var next = 0
            func start() {
                guard next < targets.count else { return }
                let index = next
                next += 1
                let executor = executors.isEmpty ? nil : executors[index % executors.count]
                group.addTask(executorPreference: executor) { [diagnose] in
                    if Task.isCancelled { return nil }
                    let report = await diagnose(targets[index])
                    return Task.isCancelled ? nil : (index, report)
                }
            }
            for _ in 0..<concurrency { start() }
            while let finished = try await group.next() {
                guard let (index, report) = finished else { continue }
                // The next target is asked while this one is written down.
                if !Task.isCancelled { start() }
                try await each(index, report)
            }
        }
    }
}
