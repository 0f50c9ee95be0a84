// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

#if Postgres
    import Foundation
    import TrustStores

    /// A pool of connections, each driven by a thread of its own, because libpq waits.
    ///
    /// A writer runs one transaction at a time; its statements travel together if no answer is needed in between. Two writers do
    /// nothing but what many callers ask with one statement, and commit that together; a reader takes whatever waits and asks it in one
    /// pipeline. Long reads, of operators and timers, have a connection of their own, so that no request of an app waits for them. A
    /// connection that breaks is opened again for the next caller.
    ///
    /// Nothing here waits without an end: a caller waits at most `queueTimeout` for a connection and `answerTimeout` for the answer.
    final class PostgresEngine: SQLEngine {
        let systemName = "postgresql"
        private let writing: WorkQueue<PostgresTransaction>
        private let joining: WorkQueue<PostgresShare>
        private let looking: WorkQueue<PostgresQuestion>
        private let reading: WorkQueue<PostgresQuestion>
        private let facts: PostgresFacts

        init(url: String, configuration: PostgresConfiguration) throws {
            let facts = PostgresFacts(address: try PostgresAddress(url), configuration: configuration)
            self.facts = facts
            let (limit, longest) = (configuration.waitingLimit, configuration.queueTimeout)
            writing = WorkQueue(of: "PostgreSQL", limit: limit, longestWait: longest) { $0.fail($1) }
            joining = WorkQueue(of: "PostgreSQL", limit: limit, longestWait: longest) { $0.end(.failure($1)) }
            looking = WorkQueue(of: "PostgreSQL", limit: limit, longestWait: longest) { $0.fail($1) }
            reading = WorkQueue(of: "PostgreSQL", limit: limit, longestWait: longest) { $0.fail($1) }
            let writers = max(2, configuration.writers)
            let joiners = min(PostgresEngine.mostJoiners, writers / 2)
            for _ in joiners..<writers {
                let link = PostgresLink(facts)
                writing.serve(atOnce: 1, work: { link.answer($0) }, finally: { link.drop() })
            }
            for _ in 0..<joiners {
                let link = PostgresLink(facts)
                joining.serve(
                    atOnce: PostgresEngine.batchLimit, gathers: true, work: { link.answer($0) },
                    finally: { link.drop() })
            }
            for _ in 0..<max(1, configuration.readers) {
                let link = PostgresLink(facts)
                looking.serve(atOnce: PostgresEngine.batchLimit, work: { link.answer($0) }, finally: { link.drop() })
            }
            let link = PostgresLink(facts)
            reading.serve(atOnce: 1, work: { link.answer($0) }, finally: { link.drop() })
            watch()
        }

        /// At most this many callers share a round trip: enough to share its cost, few enough to bound the wait.
        private static let batchLimit = 128
        /// While one batch is committed the next one is run; and a connection that is stuck does not stop all.
        private static let mostJoiners = 2

        /// Between two looks at who has waited too long.
        private static let tick = Duration.milliseconds(100)

        /// Refuses who has waited too long, on a thread of its own, because all others may be waiting for the server. Ends some time after
        /// the engine closed.
        private func watch() {
            let (writing, joining, looking, reading, facts) = (writing, joining, looking, reading, facts)
            let thread = Thread {
                var shown = 0
                while true {
                    let closing = facts.closingDeadline
                    if let closing, closing <= .now {
                        writing.refuseAll()
                        joining.refuseAll()
                        looking.refuseAll()
                        reading.refuseAll()
                        return
                    }
                    let refused =
                        writing.refuseOverdue(at: .now) + joining.refuseOverdue(at: .now)
                        + looking.refuseOverdue(at: .now) + reading.refuseOverdue(at: .now)
                    for _ in 0..<refused { facts.observe(.waitedTooLong) }
                    let waiting = writing.count + joining.count + looking.count + reading.count
                    if waiting != shown { facts.observe(.waiting, value: waiting) }
                    shown = waiting
                    Thread.sleep(forTimeInterval: PostgresEngine.tick / .seconds(1))
                }
            }
            thread.name = "sealward-waiting"
            thread.start()
        }

        func transact<Outcome: Sendable>(
            _ body: @escaping @Sendable (any SQLSession) throws -> SQLEnd<Outcome>
        ) async throws -> Outcome {
            try await withCheckedThrowingContinuation { continuation in
                let work = PostgresTransaction(
                    run: { connection in
                        let outcome = try connection.transaction(body)
                        return { continuation.resume(returning: outcome) }
                    },
                    fail: { continuation.resume(throwing: $0) }
                )
                if !writing.add(work) { facts.observe(.lineFull) }
            }
        }

        func join(_ row: [SQLValue], in statement: SharedStatement) async throws -> SQLRow? {
            try await withCheckedThrowingContinuation { continuation in
                let share = PostgresShare(statement: statement.postgres, row: row) { continuation.resume(with: $0) }
                if !joining.add(share) { facts.observe(.lineFull) }
            }
        }

        func read<Outcome: Sendable>(
            _ body: @escaping @Sendable (any SQLSession) throws -> Outcome
        ) async throws -> Outcome {
            try await ask(body, through: reading)
        }

        func look<Outcome: Sendable>(
            _ body: @escaping @Sendable (any SQLSession) throws -> Outcome
        ) async throws -> Outcome {
            try await ask(body, through: looking)
        }

        private func ask<Outcome: Sendable>(
            _ body: @escaping @Sendable (any SQLSession) throws -> Outcome, through queue: WorkQueue<PostgresQuestion>
        ) async throws -> Outcome {
            try await withCheckedThrowingContinuation { continuation in
                let question = PostgresQuestion(
                    ask: { session in
                        let outcome = try body(session)
                        return { continuation.resume(returning: outcome) }
                    },
                    fail: { continuation.resume(throwing: $0) }
                )
                if !queue.add(question) { facts.observe(.lineFull) }
            }
        }

        func migrate(_ migrations: [Migration]) async throws {
            let facts = facts
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                let work = PostgresTransaction(
                    run: { connection in
                        try connection.refuseSharedSessions()
                        try connection.migrate(migrations)
                        return { continuation.resume() }
                    },
                    fail: { continuation.resume(throwing: $0) },
                    limit: facts.configuration.migrationTimeout
                )
                if !writing.add(work) { facts.observe(.lineFull) }
            }
        }

        /// Finishes what was begun; gives up what has not ended after `closeTimeout`.
        func close() async {
            facts.close(at: .now + facts.configuration.closeTimeout)
            await withCheckedContinuation { continuation in writing.close { continuation.resume() } }
            await withCheckedContinuation { continuation in joining.close { continuation.resume() } }
            await withCheckedContinuation { continuation in looking.close { continuation.resume() } }
            await withCheckedContinuation { continuation in reading.close { continuation.resume() } }
        }
    }

    /// One caller's transaction. `run` gives what answers the caller; if it throws, `fail` does.
    struct PostgresTransaction: Sendable {
        let run: @Sendable (PostgresConnection) throws -> () -> Void
        let fail: @Sendable (any Error) -> Void
        /// How long it may take; nil for the limit of answers.
        var limit: Duration?
    }

    /// One caller's row in a statement for many.
    struct PostgresShare: Sendable {
        let statement: String
        let row: [SQLValue]
        let end: @Sendable (Result<SQLRow?, any Error>) -> Void
    }

    /// One caller's question. `ask` may run twice: first to learn what is to be sent, then with the answers.
    struct PostgresQuestion: Sendable {
        let ask: @Sendable (any SQLSession) throws -> () -> Void
        let fail: @Sendable (any Error) -> Void
    }
#endif
