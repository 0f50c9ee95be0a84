// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Synchronization
import Testing
import Vocabulary

/// Many items, few at a time, each result once.
@Suite struct BoundedTasksTests {
    struct Stop: Error {}

    /// How many items were begun, are being worked on, and were at most.
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

    /// Does some work that takes a while, for so many items.
    static func run(
        _ concurrency: Int, _ count: Int, _ watch: Watch, failingAt failure: Int? = nil,
        each: (Int, Int) async throws -> Void
    ) async throws {
        try await BoundedTasks(width: concurrency).run(
            Array(0..<count),
            work: { index, item in
                watch.begin()
                for _ in 0..<3 { await Task.yield() }
                watch.end()
                if index == failure { throw Stop() }
                return item * 2
            },
            each: each
        )
    }

    @Test(arguments: [1, 2, 7, 64], [0, 1, 5, 200]) func everyItemIsDoneOnce(
        _ concurrency: Int, _ count: Int
    ) async throws {
        let watch = Watch()
        var seen: [Int] = []
        try await Self.run(concurrency, count, watch) { index, result in
            #expect(result == index * 2)
            seen.append(index)
        }
        #expect(seen.sorted() == Array(0..<count))
        #expect(watch.most <= concurrency)
    }

    @Test func aSlowReaderHoldsTheWorkers() async throws {
        let watch = Watch()
        var written = 0
        var ahead = 0
        try await Self.run(4, 300, watch) { _, _ in
            for _ in 0..<50 { await Task.yield() }
            written += 1
            ahead = max(ahead, watch.begun - written)
        }
        #expect(written == 300)
        #expect(ahead <= 4, "\(ahead)")
    }

    /// What is done while a reader works comes to it at once, and no more than it takes.
    @Test(arguments: [1, 3, 100]) func aReaderGetsAllThatIsDone(_ most: Int) async throws {
        var seen: [Int] = []
        var largest = 0
        try await BoundedTasks(width: 8).run(Array(0..<100), work: { _, item in item * 2 }, atMost: most) { results in
            for _ in 0..<50 { await Task.yield() }
            largest = max(largest, results.count)
            seen += results.map(\.index)
            #expect(results.allSatisfy { $0.value == $0.index * 2 })
        }
        #expect(seen.sorted() == Array(0..<100))
        #expect(largest <= min(most, 8))
    }

    @Test func anErrorOfTheReaderEndsTheRun() async throws {
        let watch = Watch()
        await #expect(throws: Stop.self) { try await Self.run(4, 1000, watch) { _, _ in throw Stop() } }
        #expect(watch.begun < 1000)
    }

    /// The reader that waits for a result is woken, and the items that were not begun stay so.
    @Test(arguments: [1, 4]) func anErrorOfTheWorkEndsTheRun(_ concurrency: Int) async throws {
        let watch = Watch()
        await #expect(throws: Stop.self) {
            try await Self.run(concurrency, 1000, watch, failingAt: 20) { _, _ in }
        }
        #expect(watch.begun < 1000)
    }

    @Test func cancellingEndsTheRunAndKeepsWhatIsKnown() async throws {
        let watch = Watch()
        let task = Task {
            var known = 0
            try await Self.run(2, 100_000, watch) { _, _ in
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
