// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

#if Postgres
    import Foundation
    import TrustStores

    /// One thread's connection, opened when it is needed and again after it broke. Touched by that thread alone.
    ///
    /// A connection whose server is silent is neither canceled nor closed but set aside until the server says something. Its transaction
    /// may be in the middle of its COMMIT: to cancel a wait for a synchronous standby would show others what no standby has, and to close
    /// the connection would leave the server's process behind, and the next one, until the server has none left. A link sets a bounded
    /// number aside; then it refuses work until one of them is answered.
    final class PostgresLink: @unchecked Sendable {
        private let facts: PostgresFacts
        private var connection: PostgresConnection? {
            didSet {
                let change = (connection == nil ? 0 : 1) - (oldValue == nil ? 0 : 1)
                if change != 0 { facts.health.countOpen(change) }
            }
        }
        private var dial: PostgresDial?
        private var aside: [PostgresConnection] = []

        /// How many connections of one link the server may keep at once: one that is silent, and one beside it that may find the server
        /// well. So a node never has more than twice its readers and writers.
        static let mostConnections = 2

        init(_ facts: PostgresFacts) { self.facts = facts }

        func drop() {
            connection = nil
            dial = nil
            if !aside.isEmpty { facts.countAside(-aside.count) }
            aside = []
        }

        /// Runs each transaction, and gives what answers those who wait for them.
        func answer(_ transactions: [PostgresTransaction]) -> () -> Void {
            all(
                transactions.map { transaction in
                    let deadline = ContinuousClock.now + (transaction.limit ?? facts.configuration.answerTimeout)
                    do { return try retrying(until: deadline) { try transaction.run($0) } } catch {
                        return { transaction.fail(error) }
                    }
                }
            )
        }

        /// Commits the shares of each statement together. If the server refuses a statement, nothing of it is done for anybody, and nobody's
        /// row is answered.
        func answer(_ shares: [PostgresShare]) -> () -> Void {
            let deadline = ContinuousClock.now + facts.configuration.answerTimeout
            return all(
                Dictionary(grouping: shares, by: \.statement).map { statement, shares in
                    let result = Result {
                        let given = shares.map(\.row)
                        let rows = try retrying(until: deadline) { try $0.commit(statement, rows: given) }?.rows ?? []
                        return try Dictionary(rows.map { (try $0.integer(0), $0) }) { first, _ in first }
                    }
                    return {
                        for (number, share) in zip(Int64(1)..., shares) { share.end(result.map { $0[number] }) }
                    }
                }
            )
        }

        /// Asks all questions in one pipeline, with one synchronization point.
        func answer(_ questions: [PostgresQuestion]) -> () -> Void {
            let deadline = ContinuousClock.now + facts.configuration.answerTimeout
            let asked = questions.map { question in
                let recorder = RecordingSession()
                _ = try? question.ask(recorder)
                return (question: question, statements: recorder.statements)
            }
            do {
                let answers = try retrying(until: deadline) { try $0.pipeline([asked.flatMap(\.statements)]) }
                var rest = (try? answers.first?.get())?[...]
                let results = asked.map { question in
                    let own = rest?.prefix(question.statements.count)
                    rest = rest?.dropFirst(question.statements.count)
                    return own.map(Array.init)
                }
                return {
                    for (asked, results) in zip(asked, results) {
                        // What failed in the pipeline is asked again alone.
                        do {
                            try self.retrying(until: deadline) {
                                try asked.question.ask(ReplayingSession(results: results, connection: $0))
                            }()
                        } catch {
                            asked.question.fail(error)
                        }
                    }
                }
            } catch {
                return { for question in questions { question.fail(error) } }
            }
        }

        private func all(_ answers: [() -> Void]) -> () -> Void { { for answer in answers { answer() } } }

        /// Runs the body on a connection that works. What was not yet committed when a connection broke is tried once more on a new
        /// one: the server has rolled it back.
        private func retrying<Outcome>(
            until deadline: ContinuousClock.Instant, _ body: (PostgresConnection) throws -> Outcome
        ) throws -> Outcome {
            var conflicts = 0
            var isSecondTry = false
            while true {
                do {
                    let connection = try opened(by: deadline)
                    connection.deadline = deadline
                    return try body(connection)
                } catch let broken as BrokenConnection {
                    lose(broken)
                    if broken.mayHaveCommitted || broken.isSilent || isSecondTry {
                        throw StoreFault.unavailable(broken.reason)
                    }
                    isSecondTry = true
                } catch is TransactionConflict where conflicts < 10 {
                    conflicts += 1
                } catch let conflict as TransactionConflict {
                    throw StoreFault.unavailable("PostgreSQL keeps reporting conflicts: \(conflict.reason)")
                }
            }
        }

        private func lose(_ broken: BrokenConnection) {
            guard let lost = connection else { return }
            connection = nil
            if broken.isSilent {
                aside.append(lost)
                facts.observe(.overdue, broken.mayHaveCommitted ? "a commit" : "a statement")
                if broken.isInTransaction {
                    facts.observe(.locksHeld, broken.mayHaveCommitted ? "a commit" : "a statement")
                }
                facts.countAside(1)
            } else {
                facts.observe(.connectionLost, broken.reason)
            }
        }

        /// Closes what was set aside and has been answered since, and what waits for a primary that a newer one has replaced: that one may be silent
        /// for good, while its system keeps the connection.
        private func lookAside() {
            let before = aside.count
            aside.removeAll { $0.hasNews || !facts.lineage.isNewest($0.identity) }
            if aside.count != before { facts.countAside(aside.count - before) }
        }

        private func opened(by deadline: ContinuousClock.Instant) throws -> PostgresConnection {
            if !aside.isEmpty { lookAside() }
            if let connection, facts.lineage.isNewest(connection.identity) { return connection }
            connection = nil
            guard aside.count < PostgresLink.mostConnections else {
                // Nobody waits for that server any more, so nobody else has the others asked.
                if let silent = aside.last, silent.hasOthers { facts.lookout.look(besides: silent.host, facts) }
                throw StoreFault.unavailable(
                    "PostgreSQL has not answered earlier requests yet; is a standby holding up commits?")
            }
            if dial == nil, facts.health.isDown {
                throw StoreFault.unavailable("PostgreSQL could not be reached a moment ago")
            }
            do {
                return try dialed(by: deadline)
            } catch let failure as FailedDial {
                // Other connections are open: one attempt that failed is not the server's end.
                guard let pause = failure.pause, ContinuousClock.now + pause < deadline else { throw failure.fault }
                Thread.sleep(forTimeInterval: pause / .seconds(1))
                do { return try dialed(by: deadline) } catch let failure as FailedDial { throw failure.fault }
            }
        }

        private func dialed(by deadline: ContinuousClock.Instant) throws -> PostgresConnection {
            let dial = dial ?? PostgresDial(facts)
            self.dial = dial
            switch dial.wait(until: deadline) {
            case nil: throw StoreFault.unavailable("PostgreSQL cannot be reached in time")
            case .success(let opened):
                self.dial = nil
                connection = opened
                facts.observe(.connected)
                return opened
            case .failure(let fault):
                self.dial = nil
                facts.observe(.unreachable, fault.reason)
                throw FailedDial(fault: fault, pause: facts.health.failed())
            }
        }
    }

    /// A connection could not be opened.
    private struct FailedDial: Error {
        let fault: StoreFault
        /// How long to wait before the next attempt; nil if there is to be none now.
        let pause: Duration?
    }

    /// The connection is of no use any more.
    struct BrokenConnection: Error {
        let reason: String
        /// Whether a COMMIT was on its way: then nobody knows.
        var mayHaveCommitted = false
        /// Whether a transaction had begun, whose locks the server keeps until it ends it.
        var isInTransaction = false
        /// Whether the server only did not answer in time, and may still do what it was asked.
        var isSilent = false
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
