// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

#if Postgres
    import CLibpq
    import Foundation
    import TrustStores

    /// One libpq connection in pipeline mode. Not thread safe; ends with its owner.
    final class PostgresConnection {
        let handle: OpaquePointer
        private let answerTimeout: Duration
        /// The names of statements that this connection has prepared, by their text.
        private var prepared: [String: String] = [:]

        init(url: String, configuration: PostgresConfiguration) throws {
            let seconds = max(2, configuration.connectTimeout.components.seconds)
            guard
                let handle = PostgresConnection.connect([
                    ("dbname", url), ("connect_timeout", String(seconds)), ("fallback_application_name", "sealward"),
                    ("client_encoding", "UTF8"), ("keepalives_idle", "30"), ("keepalives_interval", "10"),
                ])
            else { throw StoreFault.unavailable("libpq has no memory for a connection") }
            self.handle = handle
            answerTimeout = configuration.answerTimeout
            guard PQstatus(handle) == CONNECTION_OK else {
                throw StoreFault.unavailable("PostgreSQL cannot be reached: \(PostgresConnection.message(of: handle))")
            }
            let limit = StoreTime.milliseconds(configuration.statementTimeout)
            try execute(
                """
                SET statement_timeout = \(limit); SET idle_in_transaction_session_timeout = \(2 * limit);
                SELECT set_config('synchronous_commit', 'on', false)
                WHERE current_setting('synchronous_commit') IN ('off', 'local');
                """
            )
            guard PQenterPipelineMode(handle) == 1, PQsetnonblocking(handle, 1) == 0 else {
                throw StoreFault.unavailable("libpq cannot pipeline on this connection")
            }
        }

        deinit { PQfinish(handle) }

        // MARK: Transactions

        /// Runs the body in one transaction and commits or rolls back.
        func transaction<Outcome>(_ body: (any SQLSession) throws -> SQLEnd<Outcome>) throws -> Outcome {
            let session = TransactionSession(connection: self)
            do {
                switch try body(session) {
                case .commit(let outcome):
                    if session.hasBegun { try commit() }
                    return outcome
                case .rollback(let outcome):
                    if session.hasBegun { try rollback() }
                    return outcome
                }
            } catch let broken as BrokenConnection {
                throw broken
            } catch {
                if session.hasBegun { try rollback() }
                throw error
            }
        }

        private func commit() throws {
            do {
                let tag = try flight([PostgresConnection.commitStatement], atOnce: true)[0].get()[0].tag
                guard tag == "COMMIT" else { throw StoreFault.unavailable("PostgreSQL did not commit") }
            } catch let broken as BrokenConnection {
                throw BrokenConnection(reason: broken.reason, mayHaveCommitted: true)
            }
        }

        private func rollback() throws { _ = try flight([PostgresConnection.rollbackStatement], atOnce: true)[0].get() }

        /// Asks all groups in one pipeline. A group that fails does not disturb the others.
        func pipeline(_ groups: [[SQLStatement]]) throws -> [Result<[SQLResult], any Error>] {
            try flight(groups).map { group in group.map { $0.map(\.result) } }
        }

        /// The statements of one transaction, sent together.
        func run(_ statements: [SQLStatement], beginning: Bool) throws -> [SQLResult] {
            let group = beginning ? [PostgresConnection.beginStatement] + statements : statements
            let answers = try flight([group])[0].get()
            return answers.dropFirst(beginning ? 1 : 0).map(\.result)
        }

        private static let beginStatement = SQLStatement("BEGIN", arguments: [])
        private static let commitStatement = SQLStatement("COMMIT", arguments: [])
        private static let rollbackStatement = SQLStatement("ROLLBACK", arguments: [])

        // MARK: The pipeline

        struct Answer {
            let result: SQLResult
            let tag: String
        }

        private func flight(_ group: [SQLStatement], atOnce: Bool) throws -> [Result<[Answer], any Error>] {
            try flight([group])
        }

        /// Sends every group with a synchronisation point behind it, then reads all answers in order.
        private func flight(_ groups: [[SQLStatement]]) throws -> [Result<[Answer], any Error>] {
            var fresh: [[(text: String, index: Int)]] = []
            for group in groups {
                var preparations: [(text: String, index: Int)] = []
                for (index, statement) in group.enumerated() {
                    if try send(statement) { preparations.append((statement.text.postgres, index)) }
                }
                guard PQpipelineSync(handle) == 1 else { throw broken() }
                fresh.append(preparations)
            }
            try flush()
            return try zip(groups, fresh).map { group, preparations in
                var answers: [Answer] = []
                var fault: (any Error)?
                for (index, statement) in group.enumerated() {
                    if preparations.contains(where: { $0.index == index }) {
                        do { _ = try nextAnswer() } catch let error as ServerError {
                            fault = fault ?? error.meaning
                            prepared[statement.text.postgres] = nil
                        }
                    }
                    do { answers.append(try nextAnswer()) } catch let error as ServerError {
                        fault = fault ?? error.meaning
                    }
                }
                try expectSync()
                if let fault { return .failure(fault) }
                return .success(answers)
            }
        }

        /// Buffers one statement; true where its preparation was buffered before it.
        private func send(_ statement: SQLStatement) throws -> Bool {
            let text = statement.text.postgres
            let arguments = PostgresArguments(statement.arguments)
            if let name = prepared[text] {
                guard arguments.send(handle, name) == 1 else { throw broken() }
                return false
            }
            let name = "s\(prepared.count)-\(text.utf8.count)"
            guard PQsendPrepare(handle, name, text, Int32(arguments.count), arguments.types) == 1,
                arguments.send(handle, name) == 1
            else { throw broken() }
            prepared[text] = name
            return true
        }

        private func nextAnswer() throws -> Answer {
            guard let result = try nextResult() else { throw broken() }
            defer { PQclear(result) }
            switch PQresultStatus(result) {
            case PGRES_TUPLES_OK, PGRES_COMMAND_OK:
                let answer = PostgresRows.answer(result)
                // Behind each answer libpq gives one nil.
                if try nextResult() != nil { throw broken() }
                return answer
            case PGRES_PIPELINE_ABORTED:
                if try nextResult() != nil { throw broken() }
                throw ServerError(state: "25P02", message: "an earlier statement failed")
            default:
                let error = ServerError(result)
                if PQstatus(handle) != CONNECTION_OK { throw broken() }
                if try nextResult() != nil { throw broken() }
                throw error
            }
        }

        private func expectSync() throws {
            guard let result = try nextResult() else { throw broken() }
            defer { PQclear(result) }
            guard PQresultStatus(result) == PGRES_PIPELINE_SYNC else { throw broken() }
        }

        private func flush() throws {
            while true {
                switch PQflush(handle) {
                case 0: return
                case 1:
                    try wait(for: Int16(POLLIN) | Int16(POLLOUT))
                    guard PQconsumeInput(handle) == 1 else { throw broken() }
                default: throw broken()
                }
            }
        }

        private func nextResult() throws -> OpaquePointer? {
            while PQisBusy(handle) == 1 {
                try wait(for: Int16(POLLIN))
                guard PQconsumeInput(handle) == 1 else { throw broken() }
            }
            return PQgetResult(handle)
        }

        /// Waits for the socket, at most as long as an answer may take.
        private func wait(for events: Int16) throws {
            var descriptor = pollfd(fd: PQsocket(handle), events: events, revents: 0)
            let limit = Int32(clamping: StoreTime.milliseconds(answerTimeout))
            while true {
                let count = poll(&descriptor, 1, limit)
                if count > 0 { return }
                if count < 0, errno == EINTR { continue }
                throw BrokenConnection(reason: "PostgreSQL does not answer", mayHaveCommitted: false)
            }
        }

        private func broken() -> BrokenConnection {
            BrokenConnection(
                reason: "the connection to PostgreSQL broke: \(PostgresConnection.message(of: handle))",
                mayHaveCommitted: false
            )
        }

        // MARK: Outside the pipeline

        /// Runs several statements as one script, outside pipeline mode.
        func execute(_ script: String) throws {
            guard let result = PQexec(handle, script) else { throw broken() }
            defer { PQclear(result) }
            switch PQresultStatus(result) {
            case PGRES_COMMAND_OK, PGRES_TUPLES_OK, PGRES_EMPTY_QUERY: return
            default: throw ServerError(result).meaning
            }
        }

        /// Leaves pipeline mode while the body runs.
        func withoutPipeline(_ body: () throws -> Void) throws {
            guard PQexitPipelineMode(handle) == 1 else { throw broken() }
            try body()
            guard PQenterPipelineMode(handle) == 1 else { throw broken() }
        }

        static func message(of handle: OpaquePointer?) -> String {
            guard let text = PQerrorMessage(handle) else { return "no reason given" }
            return String(cString: text).split(whereSeparator: \.isNewline).joined(separator: "; ")
        }

        private static func connect(_ parameters: [(String, String)]) -> OpaquePointer? {
            let words = parameters.map { (strdup($0.0), strdup($0.1)) }
            defer {
                for (keyword, value) in words {
                    free(keyword)
                    free(value)
                }
            }
            let keywords = words.map { UnsafePointer($0.0) } + [nil]
            let values = words.map { UnsafePointer($0.1) } + [nil]
            return PQconnectdbParams(keywords, values, 1)
        }
    }

    /// The statements of one transaction; the first ones take BEGIN along.
    private final class TransactionSession: SQLSession {
        private let connection: PostgresConnection
        private(set) var hasBegun = false

        init(connection: PostgresConnection) { self.connection = connection }

        func run(_ statements: [SQLStatement]) throws -> [SQLResult] {
            let isFirst = !hasBegun
            hasBegun = true
            return try connection.run(statements, beginning: isFirst)
        }
    }
#endif
