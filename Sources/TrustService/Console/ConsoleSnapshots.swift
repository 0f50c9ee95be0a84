// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Reads what the overview shows once for all who look: pages renew themselves every second, and a store that is slow must not be
/// asked by each of them.
actor ConsoleSnapshots {
    private struct Entry {
        var facts: ConsoleAppFacts?
        var readAt = 0.0
        /// How long the last reading took, seconds.
        var took = 0.0
        var running: Task<ConsoleAppFacts, any Error>?
    }

    private let reader: ConsoleReader
    private let uptime: @Sendable () -> Double
    /// By the id of the app: as many as are configured.
    private var entries: [String: Entry] = [:]

    /// The shortest time between two readings, seconds.
    static let interval = 0.8
    /// A reading may take this part of the time: one that takes a second is made every twenty seconds.
    static let share = 0.05

    init(reader: ConsoleReader, uptime: @escaping @Sendable () -> Double) {
        self.reader = reader
        self.uptime = uptime
    }

    /// What is known of an app, and how old it is in seconds.
    ///
    /// - Throws: `StoreFault`.
    func app(_ app: ServedApp, at now: Date) async throws -> (facts: ConsoleAppFacts, age: Double) {
        let id = app.settings.id
        let entry = entries[id] ?? Entry()
        let start = uptime()
        let wait = max(ConsoleSnapshots.interval, entry.took / ConsoleSnapshots.share)
        if let facts = entry.facts, start - entry.readAt < wait { return (facts, start - entry.readAt) }
        if let running = entry.running { return (try await running.value, 0) }
        let reader = reader
        let task = Task { try await reader.app(app, at: now) }
        entries[id, default: Entry()].running = task
        defer { entries[id]?.running = nil }
        let facts = try await task.value
        let end = uptime()
        entries[id]?.facts = facts
        entries[id]?.readAt = end
        entries[id]?.took = max(0, end - start)
        return (facts, 0)
    }
}
