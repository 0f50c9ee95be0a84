// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import FoundationEssentials

/// One SQLite file: some readers, and one writer that commits whatever is waiting in one transaction.
///
/// A commit costs one flush of the disk, whoever it is for. While one is being flushed, others queue up, and all of them share the
/// next flush. None that is refused or fails takes anything of another's with it, and each is answered only after the common COMMIT.
///
/// A caller is answered in time also if the disk is not: then nobody knows whether the commit will take effect, and those who come
/// while the disk is silent are refused at once.
final class SQLiteEngine: SQLEngine {
    let systemName = "sqlite"
    private let writing: WorkQueue<SQLiteConnection>
    private let looking: WorkQueue<SQLiteConnection>
    private let reading: WorkQueue<SQLiteConnection>

    /// At most this many callers share one commit, or are read for together: enough to hide the flush, few enough to bound the wait.
    private static let batchLimit = 256
    /// How many callers may wait; more are refused at once.
    private static let waitingLimit = 10_000
    /// How many threads do long reads. Rows by their keys, which take some microseconds, are read by one thread for many callers at a time.
    private static let readers = 2
    /// How long closing waits for what was begun.
    private static let closeTimeout = Duration.seconds(3)

    /// - Parameter answerTimeout: how long a caller waits for its answer; longer than the file may be held by a neighbor.
    init(
        path: String, migrations: [Migration], answerTimeout: Duration = .seconds(10),
        observe: @escaping @Sendable (StoreObservation) -> Void = { _ in }
    ) throws {
        let writer = try SQLiteConnection(path: path, writes: true)
        do {
            // The WAL mode's own default, NORMAL, loses the last commits on power loss.
            try writer.run(script: "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON")
            guard try writer.value("PRAGMA synchronous") == .integer(2),
                try writer.value("PRAGMA journal_mode") == .text("wal")
            else { throw StoreFault.unavailable("the file cannot be put into WAL mode with synchronous=FULL") }
            try writer.run(script: "PRAGMA wal_autocheckpoint = 4000")
            try writer.migrate(migrations)
        } catch {
            writer.close()
            throw error
        }
        func queue() -> WorkQueue<SQLiteConnection> {
            WorkQueue(of: "the disk", limit: SQLiteEngine.waitingLimit, longestWait: answerTimeout, observe: observe)
        }
        (writing, looking, reading) = (queue(), queue(), queue())
        let identity = SQLiteFileIdentity(path)
        writing.serve(
            upTo: SQLiteEngine.batchLimit, pause: .milliseconds(2), with: { writer },
            together: { try $0.commit($1, to: identity) }, finally: { writer.close() })
        let reader = SQLiteReader(path: path)
        looking.serve(upTo: SQLiteEngine.batchLimit, with: reader.opened, finally: reader.close)
        for _ in 0..<SQLiteEngine.readers {
            let reader = SQLiteReader(path: path)
            reading.serve(with: reader.opened, finally: reader.close)
        }
        WorkQueue.watch([writing, looking, reading], every: min(answerTimeout / 20, .milliseconds(100)))
    }

    /// A database without a file: one connection for everything, opened when it is first needed, which ends with the engine.
    init(inMemory migrations: [Migration]) {
        let queue = WorkQueue<SQLiteConnection>(
            of: "SQLite", limit: SQLiteEngine.waitingLimit, longestWait: .seconds(10), observe: { _ in })
        (writing, looking, reading) = (queue, queue, queue)
        let memory = SQLiteReader(path: SQLiteReader.memory, migrations: migrations)
        let identity = SQLiteFileIdentity(SQLiteReader.memory)
        queue.serve(
            upTo: SQLiteEngine.batchLimit, with: memory.opened, together: { try $0.commit($1, to: identity) },
            finally: memory.close)
        WorkQueue.watch([queue], every: .milliseconds(100))
    }

    deinit { for queue in [looking, reading, writing] { queue.end(within: SQLiteEngine.closeTimeout) } }

    func transact<Outcome: Sendable>(_ body: @escaping SQLTransaction<Outcome>) async throws -> Outcome {
        try await writing.call { session in try session.savepoint(body) }
    }

    func read<Outcome: Sendable>(_ body: @escaping SQLReading<Outcome>) async throws -> Outcome {
        try await reading.call { session in try session.reading(body) }
    }

    func look<Outcome: Sendable>(_ body: @escaping SQLReading<Outcome>) async throws -> Outcome {
        try await looking.call { session in try session.reading(body) }
    }

    func key(_ id: KeyIdentifier) async throws -> StoredKey? { try await look { try $0.key(id) } }

    /// All transactions are committed together here.
    func accept(_ advance: CounterAdvance, at instant: Date) async throws -> AdvanceOutcome? { nil }

    func close() async {
        for queue in [looking, reading] { queue.end(within: SQLiteEngine.closeTimeout) }
        // The writer comes last, because it takes the log into the file.
        for queue in [looking, reading, writing] { await queue.close(within: SQLiteEngine.closeTimeout) }
    }
}

extension SQLiteConnection {
    fileprivate func reading<Outcome>(_ body: SQLReading<Outcome>) throws -> Outcome {
        do { return try body(self) } catch { throw StoreFault(sqlite: error) }
    }

    /// Does what several callers want in one transaction: they are answered only after its COMMIT.
    fileprivate func commit(_ pieces: () -> Void, to identity: SQLiteFileIdentity) throws {
        do {
            try execute("BEGIN IMMEDIATE")
            pieces()
            try requireTransaction()
            try identity.check()
            try execute("COMMIT")
        } catch {
            if isInTransaction { try? execute("ROLLBACK") }
            throw StoreFault(sqlite: error)
        }
    }

    /// A full disk or an I/O error ends the whole transaction, and everybody's work with it.
    private func requireTransaction() throws {
        guard isInTransaction else { throw StoreFault.unavailable("SQLite ended the transaction; is the disk full?") }
    }

    /// Runs statements of one caller among others of the same transaction: what fails or is rolled back takes nothing of theirs along.
    fileprivate func savepoint<Outcome>(_ body: SQLTransaction<Outcome>) throws -> Outcome {
        try requireTransaction()
        defer { try? execute("RELEASE one") }
        do {
            try execute("SAVEPOINT one")
            switch try body(self) {
            case .commit(let outcome): return outcome
            case .rollback(let outcome):
                try execute("ROLLBACK TO one")
                return outcome
            }
        } catch {
            try? execute("ROLLBACK TO one")
            throw StoreFault(sqlite: error)
        }
    }
}

/// The connection of one thread, opened when it is first needed: to a file that it only reads, or to memory.
private final class SQLiteReader: @unchecked Sendable {
    private let path: String
    private let migrations: [Migration]?
    private var connection: SQLiteConnection?

    /// What SQLite calls a database without a file.
    static let memory = ":memory:"

    init(path: String, migrations: [Migration]? = nil) { (self.path, self.migrations) = (path, migrations) }

    func opened() throws(StoreFault) -> SQLiteConnection {
        if let connection { return connection }
        do {
            let opened = try SQLiteConnection(path: path, writes: migrations != nil)
            if let migrations { try opened.migrate(migrations) }
            connection = opened
            return opened
        } catch {
            throw StoreFault(sqlite: error)
        }
    }

    func close() { connection?.close() }
}
