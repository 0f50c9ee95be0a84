// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

#if Postgres
    import Foundation
    import Synchronization
    import TrustStores

    /// A pool of connections, each driven by a thread of its own, because libpq waits.
    ///
    /// A writer runs one transaction at a time; its statements travel together where no answer is needed in between. A reader takes
    /// whatever waits and asks it in one pipeline. A connection that breaks is opened again for the next caller.
    final class PostgresEngine: SQLEngine {
        private let writing: WorkQueue<PostgresTransaction>
        private let reading: WorkQueue<PostgresQuestion>

        init(url: String, configuration: PostgresConfiguration) {
            writing = WorkQueue(limit: configuration.waitingLimit)
            reading = WorkQueue(limit: configuration.waitingLimit)
            let health = PostgresHealth(pause: configuration.pauseAfterFailure)
            for _ in 0..<max(1, configuration.writers) {
                let link = PostgresLink(url: url, configuration: configuration, health: health)
                writing.serve(atOnce: 1, answer: { link.answer($0) }, finally: { link.drop() })
            }
            for _ in 0..<max(1, configuration.readers) {
                let link = PostgresLink(url: url, configuration: configuration, health: health)
                reading.serve(atOnce: 64, answer: { link.answer($0) }, finally: { link.drop() })
            }
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
                if let refusal = writing.add(work) { work.fail(refusal) }
            }
        }

        func read<Outcome: Sendable>(
            _ body: @escaping @Sendable (any SQLSession) throws -> Outcome
        ) async throws -> Outcome {
            try await withCheckedThrowingContinuation { continuation in
                let question = PostgresQuestion(
                    ask: { session in
                        let outcome = try body(session)
                        return { continuation.resume(returning: outcome) }
                    },
                    fail: { continuation.resume(throwing: $0) }
                )
                if let refusal = reading.add(question) { question.fail(refusal) }
            }
        }

        func look<Outcome: Sendable>(
            _ body: @escaping @Sendable (any SQLSession) throws -> Outcome
        ) async throws -> Outcome {
            try await read(body)
        }

        func migrate(_ migrations: [Migration]) async throws {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                let work = PostgresTransaction(
                    run: { connection in
                        try connection.migrate(migrations)
                        return { continuation.resume() }
                    },
                    fail: { continuation.resume(throwing: $0) }
                )
                if let refusal = writing.add(work) { work.fail(refusal) }
            }
        }

        func close() async {
            await withCheckedContinuation { continuation in writing.close { continuation.resume() } }
            await withCheckedContinuation { continuation in reading.close { continuation.resume() } }
        }
    }

    /// One caller's transaction. `run` gives what answers the caller; if it throws, `fail` does.
    struct PostgresTransaction: Sendable {
        let run: @Sendable (PostgresConnection) throws -> () -> Void
        let fail: @Sendable (any Error) -> Void
    }

    /// One caller's question. `ask` may run twice: first to learn what is to be sent, then with the answers.
    struct PostgresQuestion: Sendable {
        let ask: @Sendable (any SQLSession) throws -> () -> Void
        let fail: @Sendable (any Error) -> Void
    }

    /// When the server failed last, shared by all connections, so that callers are not kept waiting for a server that is down.
    final class PostgresHealth: Sendable {
        private let downUntil = Mutex<ContinuousClock.Instant?>(nil)
        private let pause: Duration

        init(pause: Duration) { self.pause = pause }

        var isDown: Bool { downUntil.withLock { $0.map { $0 > .now } ?? false } }
        func failed() { downUntil.withLock { $0 = .now + pause } }
        func worked() { downUntil.withLock { $0 = nil } }
    }
#endif
