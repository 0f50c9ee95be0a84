// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import CLibpq
import FoundationEssentials
import Glibc
import TrustStores

/// One libpq connection to a primary, which does one statement at a time. Not thread safe; ends with its owner.
///
/// It never waits longer than until its deadline, and never inside libpq: libpq is only called when it need not wait.
final class PostgresConnection: SQLSession {
    private let libpq: LibpqConnection
    let facts: PostgresFacts
    private let notices: PostgresNotices
    /// When what runs on the connection is given up. Who takes the connection sets it.
    var deadline: ContinuousClock.Instant
    /// Which primary this is; nil until it is found to be one that may be used.
    private var identity: PostgresIdentity?
    /// Behind a pooler the number of the server's process, which must stay the same; nil without a pooler.
    private(set) var pooledProcess: Int32?
    let host: PostgresAddress.Host
    let hostaddr: String?
    /// How much the server may send.
    private var intake = PostgresIntake()
    /// The names of statements that this connection has prepared, by their text.
    private var prepared: [String: String] = [:]
    /// How many statements were ever prepared: a name is never given twice, also if the server refused what had it.
    private var preparations: UInt64 = 0

    /// Connects, logs in and prepares the session within the limit of one connection.
    ///
    /// - Throws: ``BrokenConnection``, also if the server is no primary that may be used.
    init(_ host: PostgresAddress.Host, hostaddr: String?, facts: PostgresFacts) throws {
        (self.facts, self.host, self.hostaddr) = (facts, host, hostaddr)
        notices = PostgresNotices(facts)
        deadline = .now + facts.connectTimeout
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
        let identity = PostgresIdentity(system: system, timeline: timeline)
        if let refusal = facts.lineage.admit(identity, at: host) {
            facts.observe(.otherServer, "\(host.title): \(refusal)")
            throw BrokenConnection(reason: refusal)
        }
        self.identity = identity
    }

    /// Whether the server has said something since the connection was set aside: an answer, or that it is gone.
    var hasNews: Bool { !libpq.consumeInput() || !libpq.isBusy }

    /// Whether a newer primary has been seen since.
    var isReplaced: Bool { identity.map { !facts.lineage.isNewest($0) } ?? false }

    // MARK: Transactions

    /// Runs the body in one transaction and commits or rolls back.
    ///
    /// - Parameter settings: a statement that sets something for the transaction alone.
    func transaction<Outcome: Sendable>(
        setting settings: String = "", _ body: (PostgresConnection) throws -> SQLEnd<Outcome>
    ) throws -> Outcome {
        do {
            try execute("BEGIN;" + settings)
            try checkSession()
            switch try body(self) {
            case .commit(let outcome):
                try commit()
                return outcome
            case .rollback(let outcome):
                try execute("ROLLBACK")
                return outcome
            }
        } catch var broken as BrokenConnection {
            broken.isInTransaction = true
            throw broken
        } catch {
            try execute("ROLLBACK")
            throw error
        }
    }

    /// Runs the body, which only reads, outside any transaction if nobody shares the session.
    func read<Outcome: Sendable>(_ body: (any SQLSession) throws -> Outcome) throws -> Outcome {
        if pooledProcess == nil { return try body(self) }
        return try transaction { .rollback(try body($0)) }
    }

    /// Whether a COMMIT took effect is unknown if its answer does not come; it is never canceled.
    private func commit() throws {
        let warnings = notices.warnings
        do {
            do {
                guard try ask(libpq.send(script: "COMMIT"))?.tag == "COMMIT" else {
                    throw StoreFault.unavailable("PostgreSQL did not commit")
                }
            } catch let error as ServerError { throw error.meaning }
        } catch var broken as BrokenConnection {
            broken.mayHaveCommitted = true
            throw broken
        }
        // So says a server whose wait for a synchronous standby was canceled: committed here, and perhaps nowhere else.
        if notices.warnings != warnings {
            throw BrokenConnection(reason: "PostgreSQL committed with a warning", mayHaveCommitted: true)
        }
    }

    // MARK: Statements

    @discardableResult
    func run(_ text: SQLText, _ arguments: [SQLValue]) throws -> SQLResult {
        try run(text.postgres, PostgresArguments(arguments))
    }

    /// Runs one statement, prepared before it is first run.
    func run(_ text: String, _ arguments: PostgresArguments) throws -> SQLResult {
        do {
            let name = try prepared[text] ?? prepare(text, arguments.types)
            guard let result = try ask(libpq.execute(name, arguments)) else { throw broken() }
            return result.answer
        } catch let error as ServerError {
            throw error.meaning
        }
    }

    private func prepare(_ text: String, _ types: [Oid]) throws -> String {
        preparations &+= 1
        let name = "s\(preparations)"
        do {
            _ = try ask(libpq.prepare(name, text, types))
        } catch let error as ServerError where error.state == "42P05" && pooledProcess != nil {
            // Another connection has used the name in the same session.
            throw BrokenConnection(reason: Self.sharedSessions)
        }
        prepared[text] = name
        return name
    }

    /// Runs several statements as one script.
    func execute(_ text: String) throws {
        do { _ = try script(text) } catch let error as ServerError { throw error.meaning }
    }

    /// Runs a script, and gives the first row of its last answer as text.
    ///
    /// - Throws: ``ServerError`` for the first statement that the server refused.
    func script(_ text: String) throws -> [String?] { try ask(libpq.send(script: text))?.firstRowAsText ?? [] }

    /// Sends a question, waits for all answers to it, and gives the last one.
    ///
    /// - Throws: ``ServerError`` for the first statement that the server refused.
    private func ask(_ send: @autoclosure () -> Bool) throws -> LibpqResult? {
        intake.begin(libpq.socket)
        guard send() else { throw broken() }
        try flush()
        var last: LibpqResult?
        var fault: ServerError?
        while let result = try nextResult() {
            switch result.status {
            case PGRES_TUPLES_OK, PGRES_COMMAND_OK, PGRES_EMPTY_QUERY: last = result
            // Nothing here copies; libpq would give such an answer again and again.
            case PGRES_COPY_IN, PGRES_COPY_OUT, PGRES_COPY_BOTH: throw broken()
            default:
                if libpq.status != CONNECTION_OK { throw broken() }
                fault = fault ?? ServerError(result)
            }
        }
        if let fault { throw fault }
        return last
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

    private func nextResult() throws -> LibpqResult? {
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
            if isReplaced {
                throw BrokenConnection(
                    reason: "PostgreSQL does not answer, and another server is the primary now", isSilent: true)
            }
        }
    }

    private func broken() -> BrokenConnection {
        let message = libpq.message
        return BrokenConnection(
            reason: facts.address.safe(message.isEmpty ? "the connection to PostgreSQL broke" : message))
    }
}
