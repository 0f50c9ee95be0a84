// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import GRDB
import Synchronization
import TrustStores

/// One SQLite file: many readers, and one writer that commits whatever is waiting in one transaction.
///
/// A commit costs one flush of the disk, whoever it is for. While one is being flushed, others queue up, and all of them share the
/// next flush. Each has a savepoint of its own, so that one that is refused or fails takes nothing of another's with it, and each is
/// answered only after the common COMMIT.
final class SQLiteEngine: SQLEngine {
    private let pool: DatabasePool
    private let readers: SQLiteReaders
    private let queue = Mutex(Queue())
    /// Tells the writer that as many wait as it wants.
    private let gathered = DispatchSemaphore(value: 0)

    private struct Queue {
        var waiting: [any WaitingTransaction] = []
        /// For how many the writer waits just now.
        var wanted: Int?
        var isDraining = false
        var isClosed = false
        var whenIdle: [CheckedContinuation<Void, Never>] = []
    }

    /// At most this many transactions share one commit: enough to hide the flush, few enough to bound the wait.
    static let batchLimit = 256

    init(path: String, migrations: [Migration]) throws {
        var configuration = GRDB.Configuration()
        configuration.label = "sealward"
        configuration.maximumReaderCount = 4
        // A neighbour process (a backup, a shell) may hold the file for a moment.
        configuration.busyMode = .timeout(5)
        pool = try DatabasePool(path: path, configuration: configuration)
        readers = SQLiteReaders(path: path)
        try pool.writeWithoutTransaction { database in
            // GRDB sets NORMAL when it turns WAL on, which loses the last commits on power loss.
            try database.execute(sql: "PRAGMA synchronous = FULL")
            guard try Int.fetchOne(database, sql: "PRAGMA synchronous") == 2,
                try String.fetchOne(database, sql: "PRAGMA journal_mode") == "wal"
            else { throw StoreFault.unavailable("the file cannot be put into WAL mode with synchronous=FULL") }
            try database.execute(sql: "PRAGMA wal_autocheckpoint = 4000")
            try SQLiteMigrations.run(migrations, on: database)
        }
    }

    func transact<Outcome: Sendable>(
        _ body: @escaping @Sendable (any SQLSession) throws -> SQLEnd<Outcome>
    ) async throws -> Outcome {
        try await withCheckedThrowingContinuation { continuation in
            let transaction = Transaction(body: body, continuation: continuation)
            let (isFirst, isEnough) = queue.withLock { queue -> (Bool?, Bool) in
                if queue.isClosed { return (nil, false) }
                queue.waiting.append(transaction)
                defer { queue.isDraining = true }
                guard let wanted = queue.wanted, queue.waiting.count >= wanted else {
                    return (!queue.isDraining, false)
                }
                queue.wanted = nil
                return (!queue.isDraining, true)
            }
            if isEnough { gathered.signal() }
            switch isFirst {
            case nil: transaction.fail(StoreFault.unavailable("the store is closed"))
            case true?: pool.asyncWriteWithoutTransaction { self.drain($0) }
            case false?: break
            }
        }
    }

    func read<Outcome: Sendable>(
        _ body: @escaping @Sendable (any SQLSession) throws -> Outcome
    ) async throws -> Outcome {
        if queue.withLock({ $0.isClosed }) { throw StoreFault.unavailable("the store is closed") }
        do {
            return try await pool.unsafeRead { try body(SQLiteSession(database: $0)) }
        } catch {
            throw StoreFault(sqlite: error)
        }
    }

    /// On the caller's own thread: a row by its key takes some microseconds, less than to hand it to another thread and back.
    func look<Outcome: Sendable>(_ body: @Sendable (any SQLSession) throws -> Outcome) throws -> Outcome {
        do {
            return try readers.read(body)
        } catch {
            throw StoreFault(sqlite: error)
        }
    }

    func close() async {
        await withCheckedContinuation { continuation in
            let isIdle = queue.withLock { queue in
                queue.isClosed = true
                if queue.isDraining { queue.whenIdle.append(continuation) }
                return !queue.isDraining
            }
            if isIdle { continuation.resume() }
        }
        // The writer last: it takes the log along into the file.
        readers.close()
        try? pool.close()
    }

    /// For each so many callers at work the writer waits, at most, as long as a commit takes.
    static let gathering = 4
    /// And never longer than this, however slow the disk is.
    static let longestGathering = Duration.milliseconds(4)

    /// Runs batches until nothing waits any more. Only one of these runs at a time, on the writer's own queue.
    private func drain(_ database: Database) {
        let clock = ContinuousClock()
        var atWork = 0
        var spent = Duration.zero
        while true {
            let pause = min(spent * atWork / SQLiteEngine.gathering, SQLiteEngine.longestGathering)
            gather(atWork, for: pause)
            let (batch, idle) = queue.withLock { queue in
                let batch = Array(queue.waiting.prefix(SQLiteEngine.batchLimit))
                queue.waiting.removeFirst(batch.count)
                if !batch.isEmpty { return (batch, [] as [CheckedContinuation<Void, Never>]) }
                queue.isDraining = false
                defer { queue.whenIdle = [] }
                return (batch, queue.whenIdle)
            }
            if batch.isEmpty {
                for continuation in idle { continuation.resume() }
                return
            }
            let start = clock.now
            let answer = commit(batch, in: database)
            spent = clock.now - start
            // Counted before anybody is answered, so that nobody counts twice.
            atWork = batch.count + queue.withLock { $0.waiting.count }
            answer()
        }
    }

    /// Waits a moment until as many callers wait as were at work before.
    ///
    /// Without it callers fall into two halves, each of which waits for the other's flush; or the first who comes back has a flush
    /// for itself and all others wait for that. The more are at work, the longer the wait is worth: while signatures are checked, a
    /// flush for a few costs the processor what one for many does. One caller alone never waits here.
    private func gather(_ callers: Int, for duration: Duration) {
        guard callers > 1 else { return }
        let wanted = min(callers, SQLiteEngine.batchLimit)
        let isEnough = queue.withLock { queue in
            queue.wanted = queue.waiting.count < wanted && !queue.isClosed ? wanted : nil
            return queue.wanted == nil
        }
        if isEnough { return }
        let isSignalled = gathered.wait(timeout: .now() + .nanoseconds(Int(duration / .nanoseconds(1)))) == .success
        // Who was the last to come in time has taken the wish and signals; the signal is not left for a later wait.
        let isComing = queue.withLock { queue in
            defer { queue.wanted = nil }
            return queue.wanted == nil
        }
        if isComing, !isSignalled { gathered.wait() }
    }

    /// Commits the batch, and gives what tells each caller how it went.
    private func commit(_ batch: [any WaitingTransaction], in database: Database) -> () -> Void {
        let session = SQLiteSession(database: database)
        do {
            try session.execute("BEGIN IMMEDIATE")
            for transaction in batch {
                transaction.run(in: session)
                // A full disk or an I/O error ends the whole transaction, and everybody's work with it.
                guard database.isInsideTransaction else {
                    throw StoreFault.unavailable("SQLite ended the transaction; is the disk full?")
                }
            }
            try session.execute("COMMIT")
        } catch {
            if database.isInsideTransaction { try? session.execute("ROLLBACK") }
            let fault = StoreFault(sqlite: error)
            return { for transaction in batch { transaction.fail(fault) } }
        }
        return { for transaction in batch { transaction.succeed() } }
    }
}

/// One caller who waits for a common commit.
private protocol WaitingTransaction: AnyObject, Sendable {
    /// Runs the statements under a savepoint; the caller is not answered yet.
    func run(in session: SQLiteSession)
    /// Answers the caller after the common commit.
    func succeed()
    /// Answers the caller that nothing was committed.
    func fail(_ fault: StoreFault)
}

/// Lives on the writer's queue between `run` and the answer; `result` is touched nowhere else.
private final class Transaction<Outcome: Sendable>: WaitingTransaction, @unchecked Sendable {
    private let body: @Sendable (any SQLSession) throws -> SQLEnd<Outcome>
    private let continuation: CheckedContinuation<Outcome, any Error>
    private var result: Result<Outcome, any Error>?

    init(
        body: @escaping @Sendable (any SQLSession) throws -> SQLEnd<Outcome>,
        continuation: CheckedContinuation<Outcome, any Error>
    ) {
        self.body = body
        self.continuation = continuation
    }

    func run(in session: SQLiteSession) {
        do {
            try session.execute("SAVEPOINT one")
            switch try body(session) {
            case .commit(let outcome): result = .success(outcome)
            case .rollback(let outcome):
                try session.execute("ROLLBACK TO one")
                result = .success(outcome)
            }
        } catch {
            try? session.execute("ROLLBACK TO one")
            result = .failure(StoreFault(sqlite: error))
        }
        try? session.execute("RELEASE one")
    }

    func succeed() {
        continuation.resume(with: result ?? .failure(StoreFault.unavailable("the transaction did not run")))
        result = nil
    }

    func fail(_ fault: StoreFault) {
        result = nil
        continuation.resume(throwing: fault)
    }
}
