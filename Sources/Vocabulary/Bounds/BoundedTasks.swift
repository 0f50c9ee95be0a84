// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

/// Does the same work for many items, at most `width` of them at a time, and hands each result on as soon as it is there.
///
/// Only results in flight are held, so memory is bounded by the width and not by the number of items.
package struct BoundedTasks: Sendable {
    package let width: Int

    /// - Parameter width: at least 1.
    package init(width: Int) {
        self.width = max(1, width)
    }

    /// Runs until all items are done or the task is cancelled; what was in flight then is dropped.
    ///
    /// - Parameters:
    ///   - work: called with an item and its place in the list.
    ///   - each: called one at a time, in the order in which items are done, with the place of the item in the list.
    /// - Throws: the first error of `work` or of `each`, which cancels the rest.
    package func run<Item: Sendable, Result: Sendable>(
        _ items: [Item], work: @escaping @Sendable (Int, Item) async throws -> Result,
        each: (Int, Result) async throws -> Void
    ) async throws {
        try await run(items, work: work, atMost: 1) { results in
            for (index, result) in results { try await each(index, result) }
        }
    }

    /// The same for a reader that would rather have everything that is there at once, as one that writes to a disk and waits for it does.
    ///
    /// - Parameters:
    ///   - most: the most results that `batch` gets at once; at least 1.
    ///   - batch: called with at least one result, otherwise as `each`.
    package func run<Item: Sendable, Result: Sendable>(
        _ items: [Item], work: @escaping @Sendable (Int, Item) async throws -> Result, atMost most: Int,
        batch: ([(index: Int, value: Result)]) async throws -> Void
    ) async throws {
        // Few more than the workers hold themselves: where the reader pauses, what waits is memory.
        let queue = ResultQueue<Result>(items: items.count, capacity: width / 8)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<min(width, items.count) {
                queue.begin()
                group.addTask {
                    defer { queue.end() }
                    do {
                        // The next item begins where the last one ended, on the same thread, while that one's result is handed on.
                        while !Task.isCancelled, let index = queue.take() {
                            let result = try await work(index, items[index])
                            if Task.isCancelled { break }
                            await queue.put(index, result)
                        }
                    } catch {
                        queue.close()
                        throw error
                    }
                }
            }
            do {
                while true {
                    let results = await queue.next(max(1, most))
                    if results.isEmpty { break }
                    try await batch(results)
                }
            } catch {
                queue.close()
                throw error
            }
            // The error of a worker, if one has closed the queue. Thrown, it cancels the others.
            while try await group.next() != nil {}
        }
    }
}
