// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
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
    private let accepting, writing, looking, reading: WorkQueue<PostgresLink>
    private let facts: PostgresFacts

    private var queues: [WorkQueue<PostgresLink>] { [accepting, writing, looking, reading] }

    init(url: String, configuration: PostgresConfiguration) throws {
        let facts = PostgresFacts(address: try PostgresAddress(url), configuration: configuration)
        self.facts = facts
        func queue(
            _ connections: Int, upTo count: Int = 1, pause: Duration = .zero,
            together: @escaping @Sendable (PostgresLink, () -> Void) throws -> Void = { $1() }
        ) -> WorkQueue<PostgresLink> {
            let queue = WorkQueue<PostgresLink>(
                of: "PostgreSQL", limit: configuration.waitingLimit, longestWait: configuration.queueTimeout,
                longestRun: PostgresEngine.longest(configuration.answerTimeout), observe: configuration.observe)
            for _ in 0..<max(1, connections) {
                let link = PostgresLink(facts)
                queue.serve(upTo: count, pause: pause, with: { link }, together: together, finally: { link.drop() })
            }
            return queue
        }
        let writers = max(2, configuration.writers)
        let accepters = min(PostgresEngine.mostAccepters, writers / 2)
        (writing, reading) = (queue(writers - accepters), queue(1))
        looking = queue(configuration.readers, upTo: PostgresEngine.batchLimit, pause: .milliseconds(1)) {
            link, pieces in
            let keys = KeyBatch()
            link.keys = keys
            pieces()
            if keys.isEmpty { return }
            try link.run(within: configuration.answerTimeout) { try keys.run(on: $0) }
        }
        accepting = queue(accepters, upTo: PostgresEngine.batchLimit, pause: .milliseconds(2)) { link, pieces in
            let batch = AdvanceBatch()
            link.batch = batch
            pieces()
            try link.run(within: configuration.answerTimeout) { try batch.run(on: $0, facts) }
        }
        WorkQueue.watch(queues, every: .milliseconds(100))
    }

    deinit { for queue in queues { queue.end(within: facts.configuration.closeTimeout) } }

    /// At most this many assertions share a transaction, or keys a statement: enough to share its cost, few enough to bound the wait.
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

    func key(_ id: KeyIdentifier) async throws -> StoredKey? {
        try await looking.join { link in link.keys.add(id) }
    }

    func accept(_ advance: CounterAdvance, at instant: Date) async throws -> AdvanceOutcome? {
        try await accepting.join { link in link.batch.add(advance, at: instant) }
    }

    /// The number of the schema that the database has; nil if it has none.
    func schema() async throws -> Int? { try await run(on: looking) { try $0.schema() } }

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
        for queue in queues { queue.end(within: limit) }
        for queue in queues { await queue.close(within: limit) }
    }
}
