// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Does the same work for many items, at most `width` of them at a time, and hands each result on as soon as it is there.
///
/// Only results in flight are held, so memory is bounded by the width and not by the number of items.
package struct BoundedTasks: Sendable {
    package let width: Int

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
        // Everything that was done while `batch` worked comes to it at once the next time.
        let done = Done<Result>()
        try await withThrowingTaskGroup(of: Void.self) { group in
            var (begun, ended) = (0, 0)
            var results: [(index: Int, value: Result)] = []
            while true {
                while begun < items.count, begun - ended < width, !Task.isCancelled {
                    let index = begun
                    begun += 1
                    group.addTask {
                        let result = try await work(index, items[index])
                        if !Task.isCancelled { done.results.withLock { $0.append((index, result)) } }
                    }
                }
                if !results.isEmpty { try await batch(results) }
                guard ended < begun else { break }
                // The error of the work, if it threw one. Thrown here, it cancels the others.
                _ = try await group.next()
                ended += 1
                results = done.results.withLock { done in
                    defer { done.removeFirst(min(max(1, most), done.count)) }
                    return Array(done.prefix(max(1, most)))
                }
            }
        }
    }
}

private final class Done<Value: Sendable>: Sendable {
    let results = Mutex<[(index: Int, value: Value)]>([])
}
