// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

#if Postgres
    import CLibpq
    import Foundation
    import TrustStores

    /// One libpq connection in pipeline mode, to a primary. Not thread safe; ends with its owner.
    ///
    /// It never waits longer than until its deadline, and never inside libpq: libpq is only called when it need not wait.
    final class PostgresConnection {
        let libpq: LibpqConnection
        let facts: PostgresFacts
        let notices: PostgresNotices
        /// When whatever runs on the connection is given up. Whoever takes the connection sets it.
        var deadline: ContinuousClock.Instant
        /// Which primary this is.
        private(set) var identity = PostgresIdentity(system: nil, timeline: 0)
        /// Behind a pooler the number of the server's process, which must stay the same; nil without a pooler.
        private(set) var pooledProcess: Int32?
        /// Where it connected to.
        let host: PostgresAddress.Host
        let hostaddr: String?
        /// Whether it is found to be a primary that may be used.
        private var isAdmitted = false
        /// How many primaries were known when it began to connect.
        private let changesBefore: Int
        /// Whether other servers are asked while this one is silent.
        let hasOthers: Bool
        /// How much the server may send.
        private var intake = PostgresIntake()
        /// The names of statements that this connection has prepared, by their text.
        private var prepared: [String: String] = [:]
        /// How many statements were ever prepared: a name is never given twice, also if the server refused what had it.
        private var preparations: UInt64 = 0

        /// Connects, logs in and prepares the session within the limit of one connection.
        ///
        /// - Parameter limit: that limit, if the connection only asks whether the server is a primary; nobody is asked beside it then.
        /// - Throws: ``BrokenConnection``, also if the server is no primary that may be used.
        init(_ host: PostgresAddress.Host, hostaddr: String?, facts: PostgresFacts, limit: Duration? = nil) throws {
            (self.facts, self.host, self.hostaddr) = (facts, host, hostaddr)
            notices = PostgresNotices(facts)
            deadline = .now + min(limit ?? facts.connectTimeout, facts.connectTimeout)
            changesBefore = facts.lineage.changes
            hasOthers = limit == nil && facts.address.hosts.count > 1
            guard let libpq = LibpqConnection(facts.address.parameters(host, hostaddr: hostaddr), notices: notices)
            else {
                throw BrokenConnection(reason: "libpq has no memory for a connection")
            }
            self.libpq = libpq
            do {
                try logIn()
                // From here on libpq waits neither for reading nor for writing, and closing does not either.
                guard libpq.stopWaiting() else { throw broken() }
                try prepareSession()
                try admit(host)
                guard libpq.enterPipeline() else { throw broken() }
            } catch let fault as StoreFault {
                throw BrokenConnection(reason: "\(host.title): \(fault.reason)")
            } catch let conflict as TransactionConflict {
                throw BrokenConnection(reason: "\(host.title): \(conflict.reason)")
            } catch let error as ServerError {
                throw BrokenConnection(reason: "\(host.title): \(facts.address.safe(error.message))")
            } catch let broken as BrokenConnection {
                throw BrokenConnection(reason: "\(host.title): \(broken.reason)")
            }
        }

        private func logIn() throws {
            var next = PGRES_POLLING_WRITING
            while true {
                guard libpq.status != CONNECTION_BAD else { throw broken() }
                switch next {
                case PGRES_POLLING_OK: return
                case PGRES_POLLING_READING: try wait(for: Int16(POLLIN))
                case PGRES_POLLING_WRITING: try wait(for: Int16(POLLOUT))
                default: throw broken()
                }
                next = libpq.goOnConnecting()
            }
        }

        /// What the service relies on, whatever the server, the database or the role says now, or after a reload: only what is set in the session
        /// stays. Without warnings nobody would know that a wait for a standby was canceled.
        private func prepareSession() throws {
            let limit = StoreTime.milliseconds(facts.configuration.statementTimeout)
            try execute(
                """
                SET statement_timeout = \(limit); SET idle_in_transaction_session_timeout = \(2 * limit);
                SET default_transaction_isolation = 'read committed'; SET client_min_messages = notice;
                SELECT set_config('synchronous_commit',
                CASE WHEN current_setting('synchronous_commit') IN ('off', 'local') THEN 'on'
                ELSE current_setting('synchronous_commit') END, false);
                """
            )
        }

        /// Learns which server this is, and refuses a standby and a primary that a newer one has replaced.
        private func admit(_ host: PostgresAddress.Host) throws {
            let row = try script(
                """
                SELECT pg_is_in_recovery(), CASE WHEN pg_is_in_recovery() THEN '' ELSE
                substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) END, pg_backend_pid()
                """
            )
            guard row.count == 3, row[0] == "f", let timeline = row[1].flatMap({ UInt32($0, radix: 16) }) else {
                facts.observe(.otherServer, "\(host.title): a standby")
                throw BrokenConnection(reason: "is a standby, which cannot write")
            }
            // A pooler gives its clients numbers of its own, because it also passes on their wishes to cancel.
            pooledProcess = row[2].flatMap { Int32($0) }.flatMap { $0 == libpq.processNumber ? nil : $0 }
            var system: String?
            do {
                system = try script("SELECT system_identifier FROM pg_control_system()").first ?? nil
            } catch let error as ServerError {
                facts.observe(.unchecked, facts.address.safe("the cluster's number: \(error.message)"))
            }
            identity = PostgresIdentity(system: system, timeline: timeline)
            if let refusal = facts.lineage.admit(identity, at: host) {
                facts.observe(.otherServer, "\(host.title): \(refusal)")
                throw BrokenConnection(reason: refusal)
            }
            isAdmitted = true
        }

        /// Whether the server has said something since the connection was set aside: an answer, or that it is gone.
        var hasNews: Bool { !libpq.consumeInput() || !libpq.isBusy }

        /// Whether the server has closed the connection while nobody asked anything; what it said last comes before its end.
        private var isGone: Bool { !libpq.consumeInput() || !libpq.consumeInput() }

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
            } catch var broken as BrokenConnection {
                broken.isInTransaction = session.hasBegun
                throw broken
            } catch {
                if session.hasBegun { try rollback() }
                throw error
            }
        }

        /// Runs one statement over lists in a transaction of its own, all in one round trip; nil if the server refused it and nothing was
        /// changed.
        ///
        /// Many callers wait for the same answer, so it does not wait long for a lock.
        func commit(_ text: String, rows: [[SQLValue]]) throws -> SQLResult? {
            let statement = PostgresStatement(text: text, rows: rows)
            // The COMMIT travels along: whether it arrived is not known of a connection that breaks later.
            if isGone { throw broken() }
            do {
                let settings: [PostgresStatement] = rows.count > Self.fewRows ? [.shortLocks, .ownPlan] : [.shortLocks]
                return try commit(after: [.begin] + settings + [statement]).last?.result
            } catch var broken as BrokenConnection {
                broken.isInTransaction = true
                throw broken
            } catch {
                facts.observe(.batchRefused, "\(error)")
                try rollback()
                return nil
            }
        }

        /// A plan that is kept serves lists of any length and compares each row with each: with 128 rows 4 to 10 ms of the server instead of 2.
        /// To plan again costs 0.3 ms, which only many rows are worth.
        private static let fewRows = 32

        /// Commits, with what is sent in the same round trip before; gives the answers to that.
        @discardableResult
        private func commit(after statements: [PostgresStatement] = []) throws -> [Answer] {
            let (warnings, doubts) = (notices.warnings, notices.doubts)
            var answers: [Answer]
            do {
                answers = try flight([statements + [.commit]], isFirst: !statements.isEmpty)[0].get()
                guard answers.popLast()?.tag == "COMMIT" else {
                    throw StoreFault.unavailable("PostgreSQL did not commit")
                }
            } catch let broken as BrokenConnection {
                throw BrokenConnection(reason: broken.reason, mayHaveCommitted: true, isSilent: broken.isSilent)
            }
            // So says a server whose wait for a synchronous standby was canceled: committed here, and perhaps nowhere else. What a statement warns
            // of, such as the nearing end of the transaction numbers, says nothing about the commit. libpq may have read the commit's warning
            // together with the last answer before it.
            if notices.doubts != doubts || notices.warnings != answers.last?.warnings ?? warnings {
                throw BrokenConnection(reason: "PostgreSQL committed with a warning", mayHaveCommitted: true)
            }
            return answers
        }

        private func rollback() throws { _ = try flight([[.rollback]])[0].get() }

        /// Asks all groups in one pipeline. A group that fails does not disturb the others.
        func pipeline(_ groups: [[SQLStatement]]) throws -> [Result<[SQLResult], any Error>] {
            try flight(groups.map { $0.map(PostgresStatement.init) }, isFirst: true)
                .map { group in group.map { $0.map(\.result) } }
        }

        /// The statements of one transaction, sent together.
        func run(_ statements: [SQLStatement], beginning: Bool) throws -> [SQLResult] {
            let group = (beginning ? [.begin] : []) + statements.map(PostgresStatement.init)
            let answers = try flight([group], isFirst: beginning)[0].get()
            return answers.dropFirst(beginning ? 1 : 0).map(\.result)
        }

        // MARK: The pipeline

        struct Answer {
            let result: SQLResult
            let tag: String
            /// How many warnings of the connection had come with it.
            var warnings = 0
        }

        /// Sends every group with a synchronisation point behind it, then reads all answers in order.
        ///
        /// - Parameter isFirst: whether each group begins a transaction; behind a pooler it may then reach another session than this one's,
        ///   and is not run there.
        func flight(_ groups: [[PostgresStatement]], isFirst: Bool = false) throws -> [Result<[Answer], any Error>] {
            intake.begin(answers: groups.reduce(0) { $0 + $1.count }, libpq.socket)
            var fresh: [[(text: String, index: Int)]] = []
            let process = isFirst ? pooledProcess : nil
            for group in groups {
                if let process { try sendSessionCheck(of: process) }
                var preparations: [(text: String, index: Int)] = []
                for (index, statement) in group.enumerated() {
                    if try send(statement) { preparations.append((statement.text, index)) }
                }
                guard libpq.synchronize() else { throw broken() }
                fresh.append(preparations)
            }
            try flush()
            return try zip(groups, fresh).map { group, preparations in
                var answers: [Answer] = []
                var fault: (any Error)?
                if process != nil { try expectSameSession() }
                for (index, statement) in group.enumerated() {
                    if preparations.contains(where: { $0.index == index }) {
                        do { _ = try nextAnswer() } catch let error as ServerError {
                            // Another connection has used the name in the same session.
                            if error.state == "42P05", pooledProcess != nil {
                                throw BrokenConnection(reason: Self.sharedSessions)
                            }
                            fault = fault ?? error.meaning
                            prepared[statement.text] = nil
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

        /// Buffers one statement; true if its preparation was buffered before it.
        private func send(_ statement: PostgresStatement) throws -> Bool {
            let (text, arguments) = (statement.text, statement.arguments)
            if let name = prepared[text] {
                guard libpq.execute(name, arguments) else { throw broken() }
                return false
            }
            preparations &+= 1
            let name = "s\(preparations)"
            guard libpq.prepare(name, text, arguments.types), libpq.execute(name, arguments) else { throw broken() }
            prepared[text] = name
            return true
        }

        private func nextAnswer() throws -> Answer {
            guard let result = try nextResult() else { throw broken() }
            switch result.status {
            case PGRES_TUPLES_OK, PGRES_COMMAND_OK:
                var answer = result.answer
                answer.warnings = notices.warnings
                // Behind each answer libpq gives one nil.
                if try nextResult() != nil { throw broken() }
                return answer
            case PGRES_PIPELINE_ABORTED:
                if try nextResult() != nil { throw broken() }
                throw ServerError(state: "25P02", message: "an earlier statement failed")
            default:
                let error = ServerError(result)
                if libpq.status != CONNECTION_OK { throw broken() }
                if try nextResult() != nil { throw broken() }
                throw error
            }
        }

        private func expectSync() throws {
            guard let result = try nextResult() else { throw broken() }
            guard result.status == PGRES_PIPELINE_SYNC else { throw broken() }
        }

        private func flush() throws {
            while true {
                switch libpq.flush() {
                case 0: return
                case 1:
                    try wait(for: Int16(POLLIN) | Int16(POLLOUT))
                    try consume()
                default: throw broken()
                }
            }
        }

        func nextResult() throws -> LibpqResult? {
            while libpq.isBusy {
                try wait(for: Int16(POLLIN))
                try consume()
            }
            return libpq.nextResult()
        }

        /// Takes what has come, as long as it is not more than any answer of ours can be: libpq itself keeps whatever a server sends.
        private func consume() throws {
            try checkIntake()
            guard libpq.consumeInput() else { throw broken() }
            // One call takes what comes meanwhile as well: all of a row if the server is faster than this thread.
            try checkIntake()
        }

        private func checkIntake() throws {
            guard intake.isWithin(libpq.socket) else {
                throw BrokenConnection(reason: "PostgreSQL sends more than any answer can contain")
            }
        }

        /// The longest wait between two looks at the clock and at whether the engine closes.
        static let slice = Duration.milliseconds(200)

        /// Waits for the socket until the deadline. Looks at the clock first, so that a server that never stops to send gains nothing.
        private func wait(for events: Int16) throws {
            let start = ContinuousClock.now
            while true {
                var descriptor = pollfd(fd: libpq.socket, events: events, revents: 0)
                // With no socket poll would wait, for nothing.
                guard descriptor.fd >= 0 else { throw broken() }
                let rest = facts.end(of: deadline) - .now
                guard rest > .zero else {
                    throw BrokenConnection(reason: "PostgreSQL does not answer", isSilent: true)
                }
                let slice = min(rest, PostgresConnection.slice)
                // Safe: one entry is lent, and one is announced.
                let count = unsafe poll(&descriptor, 1, Int32(clamping: StoreTime.milliseconds(slice) + 1))
                if count > 0 { return }
                if count < 0, errno != EINTR { throw broken() }
                if hasOthers { try considerOthers(after: ContinuousClock.now - start) }
            }
        }

        /// Gives a silent server up if a newer primary is known, and has the others asked after a moment.
        private func considerOthers(after silence: Duration) throws {
            let isReplaced =
                isAdmitted ? !facts.lineage.isNewest(identity) : facts.lineage.changes != changesBefore
            if isReplaced {
                throw BrokenConnection(
                    reason: "PostgreSQL does not answer, and another server is the primary now", isSilent: isAdmitted)
            }
            if silence >= PostgresLookout.patience { facts.lookout.look(besides: host, facts) }
        }

        func broken() -> BrokenConnection {
            let message = libpq.message
            return BrokenConnection(
                reason: facts.address.safe(message.isEmpty ? "the connection to PostgreSQL broke" : message))
        }

        // MARK: Outside the pipeline

        /// Runs several statements as one script, outside pipeline mode.
        func execute(_ text: String) throws {
            do { _ = try script(text) } catch let error as ServerError { throw error.meaning }
        }

        /// Runs a script outside pipeline mode, and gives the first row of its last answer as text.
        ///
        /// - Throws: ``ServerError`` for the first statement that the server refused.
        func script(_ text: String) throws -> [String?] {
            intake.begin(answers: 1, libpq.socket)
            guard libpq.send(script: text) else { throw broken() }
            try flush()
            var row: [String?] = []
            var fault: ServerError?
            while let result = try nextResult() {
                switch result.status {
                case PGRES_TUPLES_OK: row = result.firstRowAsText
                case PGRES_COMMAND_OK, PGRES_EMPTY_QUERY: break
                // No script of ours copies; libpq would give such an answer again and again.
                case PGRES_COPY_IN, PGRES_COPY_OUT, PGRES_COPY_BOTH: throw broken()
                default:
                    if libpq.status != CONNECTION_OK { throw broken() }
                    fault = fault ?? ServerError(result)
                }
            }
            if let fault { throw fault }
            return row
        }

        /// Leaves pipeline mode while the body runs.
        func withoutPipeline(_ body: () throws -> Void) throws {
            guard libpq.exitPipeline() else { throw broken() }
            try body()
            guard libpq.enterPipeline() else { throw broken() }
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
