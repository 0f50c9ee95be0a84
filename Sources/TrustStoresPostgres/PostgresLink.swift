// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

#if Postgres
    import TrustStores

    /// One thread's connection, opened when it is needed and again after it broke. Touched by that thread alone.
    final class PostgresLink: @unchecked Sendable {
        private let url: String
        private let configuration: PostgresConfiguration
        private let health: PostgresHealth
        private var connection: PostgresConnection?

        init(url: String, configuration: PostgresConfiguration, health: PostgresHealth) {
            self.url = url
            self.configuration = configuration
            self.health = health
        }

        func drop() { connection = nil }

        func answer(_ transactions: [PostgresTransaction]) {
            for transaction in transactions {
                do { try retrying { try transaction.run($0) }() } catch { transaction.fail(error) }
            }
        }

        func answer(_ questions: [PostgresQuestion]) {
            let recorded = questions.map { question in
                let recorder = RecordingSession()
                _ = try? question.ask(recorder)
                return recorder.statements
            }
            do {
                let answers = try retrying { try $0.pipeline(recorded) }
                for (question, answer) in zip(questions, answers) {
                    do {
                        // What failed in the pipeline is asked again alone.
                        let results = try? answer.get()
                        try retrying { try question.ask(ReplayingSession(results: results, connection: $0)) }()
                    } catch {
                        question.fail(error)
                    }
                }
            } catch {
                for question in questions { question.fail(error) }
            }
        }

        /// Runs the body on a connection that works. What was not yet committed when a connection broke is tried once more on a new
        /// one: the server has rolled it back.
        private func retrying<Outcome>(_ body: (PostgresConnection) throws -> Outcome) throws -> Outcome {
            var conflicts = 0
            var isSecondTry = false
            while true {
                do {
                    let outcome = try body(try opened())
                    return outcome
                } catch let broken as BrokenConnection {
                    connection = nil
                    if broken.mayHaveCommitted || isSecondTry {
                        health.failed()
                        throw StoreFault.unavailable(broken.reason)
                    }
                    isSecondTry = true
                } catch is TransactionConflict where conflicts < 10 {
                    conflicts += 1
                } catch let conflict as TransactionConflict {
                    throw StoreFault.unavailable("PostgreSQL reports conflicts again and again: \(conflict.reason)")
                }
            }
        }

        private func opened() throws -> PostgresConnection {
            if let connection { return connection }
            if health.isDown { throw StoreFault.unavailable("PostgreSQL did not answer a moment ago") }
            do {
                let opened = try PostgresConnection(url: url, configuration: configuration)
                connection = opened
                health.worked()
                return opened
            } catch {
                health.failed()
                throw error
            }
        }
    }

    /// The connection broke.
    struct BrokenConnection: Error {
        let reason: String
        /// Whether a COMMIT was on its way: then nobody knows.
        let mayHaveCommitted: Bool
    }

    /// The server ended the transaction because of another one; it may be run again.
    struct TransactionConflict: Error {
        let reason: String
    }

    /// Learns what a question wants to send, and sends nothing.
    private final class RecordingSession: SQLSession {
        var statements: [SQLStatement] = []

        func run(_ statements: [SQLStatement]) throws -> [SQLResult] {
            self.statements = statements
            throw CancellationError()
        }
    }

    /// Gives the answers to what was recorded; anything further is asked directly.
    private final class ReplayingSession: SQLSession {
        private var results: [SQLResult]?
        private let connection: PostgresConnection

        init(results: [SQLResult]?, connection: PostgresConnection) {
            self.results = results
            self.connection = connection
        }

        func run(_ statements: [SQLStatement]) throws -> [SQLResult] {
            if let results {
                self.results = nil
                return results
            }
            return try connection.pipeline([statements])[0].get()
        }
    }
#endif
