// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import Synchronization
import Testing

@testable import ATSDiagnostics

/// Many targets, few at a time, each report once.
@Suite struct FleetRunnerTests {
    struct Stop: Error {}

    /// How many targets were begun, are being checked, and were at most.
    final class Watch: Sendable {
        private let counts = Mutex((begun: 0, running: 0, most: 0))

        func begin() {
            counts.withLock { counts in
                counts.begun += 1
                counts.running += 1
                counts.most = max(counts.most, counts.running)
            }
        }

        func end() { counts.withLock { $0.running -= 1 } }
        var begun: Int { counts.withLock { $0.begun } }
        var most: Int { counts.withLock { $0.most } }
    }

    static func runner(_ concurrency: Int, _ watch: Watch) async throws -> FleetRunner {
        let report = try await TargetDiagnosis.of(ModelServer())
        return FleetRunner(concurrency: concurrency, executors: LoopExecutor.all) { _ in
            watch.begin()
            for _ in 0..<3 { await Task.yield() }
            watch.end()
            return report
        }
    }

    static func targets(_ count: Int) throws -> [CheckTarget] {
        try (0..<count).map { try CheckTarget("h\($0).example") }
    }

    @Test(arguments: [1, 2, 7, 64], [0, 1, 5, 200]) func everyTargetIsReportedOnce(
        _ concurrency: Int,
        _ count: Int
    ) async throws {
        let watch = Watch()
        var seen: [Int] = []
        try await Self.runner(concurrency, watch).run(try Self.targets(count)) { index, _ in seen.append(index) }
        #expect(seen.sorted() == Array(0..<count))
        #expect(watch.most <= concurrency)
    }

    @Test func aSlowReaderHoldsTheWorkers() async throws {
        let watch = Watch()
        var written = 0
        var ahead = 0
        try await Self.runner(4, watch).run(try Self.targets(300)) { _, _ in
            for _ in 0..<50 { await Task.yield() }
            written += 1
            ahead = max(ahead, watch.begun - written)
        }
        #expect(written == 300)
        // What waits, one more for each worker, and what is being written.
        #expect(ahead <= 4 + 2 * 4 + 1, "\(ahead)")
    }

    @Test func anErrorOfTheReaderEndsTheRun() async throws {
        let watch = Watch()
        let runner = try await Self.runner(4, watch)
        let targets = try Self.targets(1000)
        await #expect(throws: Stop.self) { try await runner.run(targets) { _, _ in throw Stop() } }
        #expect(watch.begun < 1000)
    }

    @Test func cancellingEndsTheRunAndKeepsWhatIsKnown() async throws {
        let watch = Watch()
        let runner = try await Self.runner(2, watch)
        let targets = try Self.targets(100_000)
        let task = Task {
            var known = 0
            try await runner.run(targets) { _, _ in
                known += 1
                if known == 10 { withUnsafeCurrentTask { $0?.cancel() } }
            }
            return known
        }
        let known = try await task.value
        #expect(known >= 10)
        #expect(watch.begun < 100_000)
    }
}
