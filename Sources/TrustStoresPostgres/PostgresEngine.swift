// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import TrustStores

/// A pool of connections, each driven by a thread of its own, because libpq waits.
///
/// Each connection does one statement at a time. Two writers do nothing but accept assertions of many callers together. Long reads,
/// of operators and timers, have a connection of their own, so that no request of an app waits for them. A connection that breaks is
/// opened again for the next caller.
///
/// Nothing here waits without an end: a caller waits at most `queueTimeout` for a connection and `answerTimeout` for the answer.
final class PostgresEngine: SQLEngine {
    let systemName = "postgresql"
    private let writing: WorkQueue<PostgresLink>
    private let accepting: WorkQueue<AdvanceBatch>
    private let looking: WorkQueue<PostgresLink>
    private let reading: WorkQueue<PostgresLink>
    private let facts: PostgresFacts

    init(url: String, configuration: PostgresConfiguration) throws {
        let facts = PostgresFacts(address: try PostgresAddress(url), configuration: configuration)
        self.facts = facts
        func line<Resource>(of _: Resource.Type) -> WorkQueue<Resource> {
            WorkQueue(
                of: "PostgreSQL", limit: configuration.waitingLimit, longestWait: configuration.queueTimeout,
                longestRun: PostgresEngine.longest(configuration.answerTimeout), observe: configuration.observe)
        }
        func queue(_ connections: Int) -> WorkQueue<PostgresLink> {
            let queue = line(of: PostgresLink.self)
            for _ in 0..<max(1, connections) {
                let link = PostgresLink(facts)
                queue.serve(with: { link }, finally: { link.drop() })
            }
            return queue
        }
        let writers = max(2, configuration.writers)
        let accepters = min(PostgresEngine.mostAccepters, writers / 2)
        (writing, looking, reading) = (queue(writers - accepters), queue(configuration.readers), queue(1))
        accepting = line(of: AdvanceBatch.self)
        for _ in 0..<accepters {
            let link = PostgresLink(facts)
            accepting.serve(
                upTo: PostgresEngine.batchLimit, pause: .milliseconds(2), with: AdvanceBatch.init,
                together: { batch, pieces in
                    pieces()
                    try link.run(within: configuration.answerTimeout) { try batch.run(on: $0, facts) }
                }, finally: { link.drop() })
        }
        WorkQueue.watch([writing, looking, reading], every: .milliseconds(100))
        WorkQueue.watch([accepting], every: .milliseconds(100))
    }

    deinit { end() }

    private func end() {
        let limit = facts.configuration.closeTimeout
        for queue in [writing, looking, reading] { queue.end(within: limit) }
        accepting.end(within: limit)
    }

    /// At most this many assertions share a transaction: enough to share its cost, few enough to bound the wait.
    private static let batchLimit = 128
    /// While one batch is committed the next one is run; and a connection that is stuck does not stop all.
    private static let mostAccepters = 2

    /// Connections give up by themselves; only what no deadline ends, such as the resolver of names, is left to the clock of the queue.
    private static func longest(_ limit: Duration) -> Duration { limit + .seconds(1) }

    func transact<Outcome: Sendable>(_ body: @escaping SQLTransaction<Outcome>) async throws -> Outcome {
        try await run(on: writing) { try $0.transaction(body) }
    }

    func read<Outcome: Sendable>(_ body: @escaping SQLReading<Outcome>) async throws -> Outcome {
        try await run(on: reading) { try $0.read(body) }
    }

    func look<Outcome: Sendable>(_ body: @escaping SQLReading<Outcome>) async throws -> Outcome {
        try await run(on: looking) { try $0.read(body) }
    }

    private func run<Outcome: Sendable>(
        on queue: WorkQueue<PostgresLink>, _ body: @escaping @Sendable (PostgresConnection) throws -> Outcome
    ) async throws -> Outcome {
        let limit = facts.configuration.answerTimeout
        return try await queue.call { link in try link.run(within: limit, body) }
    }

    func accept(_ advance: CounterAdvance, at instant: Date) async throws -> AdvanceOutcome? {
        try await accepting.join { batch in batch.add(advance, at: instant) }
    }

    func migrate(_ migrations: [Migration]) async throws {
        let limit = facts.configuration.migrationTimeout
        try await writing.call(within: PostgresEngine.longest(limit)) { link in
            try link.run(within: limit) { connection in
                try connection.refuseSharedSessions()
                try connection.migrate(migrations)
            }
        }
    }

    /// Finishes what was begun; gives up what has not ended after `closeTimeout`.
    func close() async {
        let limit = facts.configuration.closeTimeout
        facts.close(at: .now + limit)
        end()
        await accepting.close(within: limit)
        for queue in [writing, looking, reading] { await queue.close(within: limit) }
    }
}
