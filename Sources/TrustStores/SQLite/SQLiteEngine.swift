// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization

/// One SQLite file: many readers, and one writer that commits whatever is waiting in one transaction.
///
/// A commit costs one flush of the disk, whoever it is for. While one is being flushed, others queue up, and all of them share the
/// next flush. None that is refused or fails takes anything of another's with it, and each is answered only after the common COMMIT.
///
/// A caller is answered in time also if the disk is not: then nobody knows whether the commit will take effect, and those who come
/// while the disk is silent are refused at once.
final class SQLiteEngine: SQLEngine {
    let systemName = "sqlite"
    private let writer: SQLiteConnection
    /// Where the writer works.
    private let writing = DispatchQueue(label: "sealward.store.writer")
    private let readers: SQLiteReaders
    /// Where long reads are done: histories, tallies and metrics must not hold one of the few threads on which requests are answered.
    /// Threads of its own: those of the system are so many as there are cores, and requests are answered on them.
    private let reading: WorkQueue<any WaitingReader>
    /// How many read on threads on which requests are answered.
    private let looking = Turnstile(limit: max(0, ProcessInfo.processInfo.activeProcessorCount - 1))
    private let identity: SQLiteFileIdentity
    private let queue = Mutex(Queue())
    /// Where the writer waits for more callers.
    private let gathering = Gathering()

    private let answerTimeout: Duration
    private let observe: @Sendable (StoreObservation) -> Void

    private struct Queue {
        var waiting = WaitingLine<any WaitingTransaction>()
        /// What is being committed.
        var current: [any WaitingTransaction] = []
        /// Since when it is.
        var since: ContinuousClock.Instant?
        /// Whether somebody looks at the clock while transactions wait.
        var isWatched = false
        /// When closing gives up to wait for the disk.
        var closingDeadline: ContinuousClock.Instant?
        var isDraining = false
        var isClosed = false
        /// Who waits for a long read, in the order of their deadlines; some are answered already.
        var reading = WaitingLine<any WaitingReader>()
        /// How long that line may get before those that are answered are taken out of it.
        var readingSweep = SQLiteEngine.shortestSweep
        /// How many long reads are under way.
        var readsRunning = 0
        /// Since when all threads for them are at work and none of the reads has ended; nil if one is free.
        var readsHeldSince: ContinuousClock.Instant?
        /// Whether all was finished goes to who waits.
        var whenIdle: [CheckedContinuation<Bool, Never>] = []
    }

    /// At most this many transactions share one commit: enough to hide the flush, few enough to bound the wait.
    static let batchLimit = 256

    /// How many callers may wait; more are refused at once.
    static let waitingLimit = 10_000
    private static let shortestSweep = 1024
    /// How long closing waits for what was begun.
    static let closeTimeout = Duration.seconds(3)

    /// - Parameter answerTimeout: how long a caller waits for its commit; longer than the file may be held by a neighbor.
    init(
        path: String, migrations: [Migration], answerTimeout: Duration = .seconds(10),
        observe: @escaping @Sendable (StoreObservation) -> Void = { _ in }
    ) throws {
        self.answerTimeout = answerTimeout
        self.observe = observe
        writer = try SQLiteConnection(path: path, writes: true)
        readers = SQLiteReaders(path: path)
        do {
            // The WAL mode's own default, NORMAL, loses the last commits on power loss.
            try writer.run(script: "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON")
            guard try writer.value("PRAGMA synchronous") == .integer(2),
                try writer.value("PRAGMA journal_mode") == .text("wal")
            else { throw StoreFault.unavailable("the file cannot be put into WAL mode with synchronous=FULL") }
            try writer.run(script: "PRAGMA wal_autocheckpoint = 4000")
            try SQLiteMigrations.run(migrations, on: writer)
        } catch {
            writer.close()
            throw error
        }
        identity = SQLiteFileIdentity(path)
        // Who waits is bounded, and answered in time, by ``read(_:)`` and the clock.
        reading = WorkQueue(of: "the disk", limit: SQLiteEngine.waitingLimit, longestWait: answerTimeout) {
            $0.fail($1)
        }
        for _ in 0..<SQLiteEngine.readingThreads {
            // The threads end with the engine, so they do not keep it.
            weak let engine = self
            reading.serve(
                atOnce: 1,
                work: { pieces in
                    // Who was told already that the disk does not answer is not read for.
                    for piece in pieces where !piece.isAnswered { engine?.run(piece) }
                    return {}
                },
                finally: {}
            )
        }
    }

    deinit { reading.close {} }

    private static let readingThreads = 4

    func transact<Outcome: Sendable>(
        _ body: @escaping @Sendable (any SQLSession) throws -> SQLEnd<Outcome>
    ) async throws -> Outcome {
        try await withCheckedThrowingContinuation { continuation in
            add(Transaction(body: body, continuation: continuation, until: .now + answerTimeout))
        }
    }

    func join(_ row: [SQLValue], in statement: SharedStatement) async throws -> SQLRow? {
        try await withCheckedThrowingContinuation { continuation in
            add(Share(row: row, statement: statement, continuation: continuation, until: .now + answerTimeout))
        }
    }

    /// Lets a transaction wait for the next commit, or refuses it.
    private func add(_ transaction: any WaitingTransaction) {
        let (isFirst, waiting, refusal) = queue.withLock { queue -> (Bool, Int, String?) in
            if let reason = reasonToRefuse(queue) { return (false, 0, reason) }
            queue.waiting.append(transaction)
            defer { queue.isDraining = true }
            return (!queue.isDraining, queue.waiting.count, nil)
        }
        if let refusal {
            transaction.fail(.unavailable(refusal))
            return
        }
        gathering.arrived(waiting)
        if isFirst {
            watch()
            writing.async { self.drain() }
        }
    }

    /// Why nobody else may wait now.
    private func reasonToRefuse(_ queue: Queue) -> String? {
        if queue.isClosed { return "the store is closed" }
        if let since = queue.since, ContinuousClock.now - since >= answerTimeout { return "the disk does not answer" }
        if queue.waiting.count >= SQLiteEngine.waitingLimit {
            observe(StoreObservation(.lineFull))
            return "too many callers wait for the disk"
        }
        return nil
    }

    // MARK: Time

    /// Looks at the clock again and again, as long as transactions wait or are at work.
    private func watch() {
        let isWatched = queue.withLock { queue in
            defer { queue.isWatched = true }
            return queue.isWatched
        }
        if !isWatched { tick() }
    }

    private func tick() {
        let pause = answerTimeout / 20
        DispatchQueue.global().asyncAfter(deadline: .now() + .nanoseconds(Int(pause / .nanoseconds(1)))) { [self] in
            let now = ContinuousClock.now
            let (overdue, readers, hopeless, goesOn) = queue.withLock { queue in
                let isGivenUp = queue.closingDeadline.map { $0 <= now } ?? false
                var overdue = queue.current.filter { isGivenUp || $0.until <= now }
                while let first = queue.waiting.first, isGivenUp || first.until <= now {
                    overdue += queue.waiting.take(upTo: 1)
                }
                let hopeless = isGivenUp ? queue.whenIdle : []
                if isGivenUp { queue.whenIdle = [] }
                var readers: [any WaitingReader] = []
                while let first = queue.reading.first, isGivenUp || first.isAnswered || first.until <= now {
                    readers += queue.reading.take(upTo: 1)
                }
                queue.isWatched = (queue.isDraining || !queue.reading.isEmpty) && !isGivenUp
                return (overdue, readers, hopeless, queue.isWatched)
            }
            for reader in readers where reader.fail(.unavailable("the disk has not answered in time")) {
                observe(StoreObservation(.overdue, detail: "a read"))
            }
            for transaction in overdue where transaction.fail(.unavailable("the disk has not answered in time")) {
                observe(StoreObservation(.overdue, detail: "a commit"))
            }
            for continuation in hopeless { continuation.resume(returning: false) }
            if goesOn { tick() }
        }
    }

    func read<Outcome: Sendable>(_ body: @escaping @Sendable (any SQLSession) throws -> Outcome) async throws -> Outcome
    {
        try await withCheckedThrowingContinuation { continuation in
            let reader = Reader(continuation, until: .now + answerTimeout) { [self] in try readNow(body) }
            let refusal = queue.withLock { queue -> String? in
                if queue.isClosed { return "the store is closed" }
                // One long read is no sign of that: with many keys the count of all of them takes as long.
                if let since = queue.readsHeldSince, ContinuousClock.now - since >= answerTimeout {
                    return "the disk does not answer"
                }
                if queue.reading.count >= queue.readingSweep {
                    // Those that were answered before an older one is.
                    queue.reading.removeAll { $0.isAnswered }
                    queue.readingSweep = min(
                        max(SQLiteEngine.shortestSweep, 2 * queue.reading.count), SQLiteEngine.waitingLimit)
                }
                if queue.reading.count >= SQLiteEngine.waitingLimit {
                    observe(StoreObservation(.lineFull))
                    return "too many callers wait for the disk"
                }
                queue.reading.append(reader)
                return nil
            }
            if let refusal {
                reader.fail(.unavailable(refusal))
                return
            }
            watch()
            _ = reading.add(reader)
        }
    }

    private func run(_ reader: any WaitingReader) {
        queue.withLock { queue in
            queue.readsRunning += 1
            if queue.readsRunning == SQLiteEngine.readingThreads { queue.readsHeldSince = .now }
        }
        reader.read()
        queue.withLock { queue in
            queue.readsRunning -= 1
            queue.readsHeldSince = nil
        }
    }

    /// On the caller's own thread: a row by its key takes some microseconds, less than to hand it to another thread and back. But never on the last of
    /// the threads on which requests are answered: a disk that does not answer must not stop what needs none.
    func look<Outcome: Sendable>(_ body: @escaping @Sendable (any SQLSession) throws -> Outcome) async throws -> Outcome
    {
        guard looking.enter() else { return try await read(body) }
        defer { looking.leave() }
        return try readNow(body)
    }

    private func readNow<Outcome>(_ body: (any SQLSession) throws -> Outcome) throws -> Outcome {
        do {
            return try readers.read(body)
        } catch {
            throw StoreFault(sqlite: error)
        }
    }

    func close() async {
        let isFinished = await withCheckedContinuation { continuation in
            let isIdle = queue.withLock { queue in
                queue.isClosed = true
                queue.closingDeadline = .now + SQLiteEngine.closeTimeout
                if queue.isDraining { queue.whenIdle.append(continuation) }
                return !queue.isDraining
            }
            if isIdle { continuation.resume(returning: true) }
        }
        // To close would wait for the same disk; the end of the process closes as well.
        guard isFinished else { return }
        await withCheckedContinuation { continuation in
            writing.async { [self] in
                // What reads longer gives its connection back to a pool that is closed.
                let isRead = DispatchSemaphore(value: 0)
                reading.close { isRead.signal() }
                _ = isRead.wait(timeout: .now() + .nanoseconds(Int(SQLiteEngine.closeTimeout / .nanoseconds(1))))
                readers.close()
                // The writer last: it takes the log along into the file.
                writer.close()
                continuation.resume()
            }
        }
    }

    /// Runs batches until nothing waits any more. Only one of these runs at a time, on the writer's own queue.
    private func drain() {
        let clock = ContinuousClock()
        while true {
            gathering.pause(upTo: SQLiteEngine.batchLimit) { queue.withLock { $0.waiting.count } }
            let (batch, idle) = queue.withLock { queue in
                let batch = queue.waiting.take(upTo: SQLiteEngine.batchLimit)
                queue.current = batch
                queue.since = batch.isEmpty ? nil : .now
                if !batch.isEmpty { return (batch, [] as [CheckedContinuation<Bool, Never>]) }
                queue.isDraining = false
                defer { queue.whenIdle = [] }
                return (batch, queue.whenIdle)
            }
            if batch.isEmpty {
                gathering.ended(atWork: 0, spent: .zero)
                for continuation in idle { continuation.resume(returning: true) }
                return
            }
            let start = clock.now
            let answer = commit(batch)
            let spent = clock.now - start
            let waiting = queue.withLock { queue in
                queue.current = []
                queue.since = nil
                return queue.waiting.count
            }
            gathering.ended(atWork: batch.count + waiting, spent: spent)
            answer()
        }
    }

    /// Commits the batch, and gives what tells each caller how it went.
    private func commit(_ batch: [any WaitingTransaction]) -> () -> Void {
        let session = SQLiteSession(writer)
        do {
            try session.execute("BEGIN IMMEDIATE")
            for transaction in batch where !transaction.isAnswered {
                try transaction.run(in: session)
                // A full disk or an I/O error ends the whole transaction, and everybody's work with it.
                guard writer.isInTransaction else {
                    throw StoreFault.unavailable("SQLite ended the transaction; is the disk full?")
                }
            }
            try identity.check()
            try session.execute("COMMIT")
        } catch {
            if writer.isInTransaction { try? session.execute("ROLLBACK") }
            let fault = StoreFault(sqlite: error)
            return { for transaction in batch { transaction.fail(fault) } }
        }
        return { for transaction in batch { transaction.succeed() } }
    }
}

/// One caller who waits for the disk.
private protocol Waiting: AnyObject, Sendable {
    /// When the caller is answered at the latest.
    var until: ContinuousClock.Instant { get }
    /// Whether the caller waits no more.
    var isAnswered: Bool { get }
    /// Answers the caller that it may not count on anything; false if it has been answered already.
    @discardableResult func fail(_ fault: StoreFault) -> Bool
}

/// One caller who waits for a common commit.
private protocol WaitingTransaction: Waiting {
    /// Runs the statements; the caller is not answered yet.
    ///
    /// - Throws: if what it has begun cannot be undone by itself: then nothing of the batch is committed.
    func run(in session: SQLiteSession) throws
    /// Answers the caller after the common commit.
    func succeed()
}

/// Lets so many in at a time, and nobody wait.
private final class Turnstile: Sendable {
    private let limit: Int
    private let inside = Mutex(0)

    init(limit: Int) { self.limit = limit }

    /// Whether there was room; who entered must leave.
    func enter() -> Bool {
        inside.withLock { inside in
            if inside >= limit { return false }
            inside += 1
            return true
        }
    }

    func leave() { inside.withLock { $0 -= 1 } }
}

/// One caller who waits for a long read.
private protocol WaitingReader: Waiting {
    /// Reads, and answers the caller.
    func read()
}

/// The caller of one long read.
private final class Reader<Outcome: Sendable>: WaitingReader {
    let until: ContinuousClock.Instant
    private let caller: WaitingCaller<Outcome>
    private let body: @Sendable () throws -> Outcome

    init(
        _ continuation: CheckedContinuation<Outcome, any Error>, until: ContinuousClock.Instant,
        _ body: @escaping @Sendable () throws -> Outcome
    ) {
        self.until = until
        self.body = body
        caller = WaitingCaller(continuation)
    }

    var isAnswered: Bool { caller.isAnswered }

    func read() { caller.answer(Result(catching: body)) }

    @discardableResult func fail(_ fault: StoreFault) -> Bool { caller.answer(.failure(fault)) }
}

/// The caller of a transaction until somebody answers it: the commit, the clock or the end of the store.
private final class WaitingCaller<Outcome: Sendable>: Sendable {
    private let continuation: Mutex<CheckedContinuation<Outcome, any Error>?>

    init(_ continuation: CheckedContinuation<Outcome, any Error>) { self.continuation = Mutex(continuation) }

    var isAnswered: Bool { continuation.withLock { $0 == nil } }

    /// Answers the caller; false if it has been answered already.
    @discardableResult func answer(_ result: Result<Outcome, any Error>) -> Bool {
        let continuation = continuation.withLock { continuation in
            defer { continuation = nil }
            return continuation
        }
        continuation?.resume(with: result)
        return continuation != nil
    }
}

/// Statements of one caller, under a savepoint of their own. Lives on the writer's queue between `run` and the answer; `result` is touched
/// nowhere else.
private final class Transaction<Outcome: Sendable>: WaitingTransaction, @unchecked Sendable {
    let until: ContinuousClock.Instant
    private let body: @Sendable (any SQLSession) throws -> SQLEnd<Outcome>
    private let caller: WaitingCaller<Outcome>
    private var result: Result<Outcome, any Error>?

    init(
        body: @escaping @Sendable (any SQLSession) throws -> SQLEnd<Outcome>,
        continuation: CheckedContinuation<Outcome, any Error>, until: ContinuousClock.Instant
    ) {
        self.body = body
        self.until = until
        caller = WaitingCaller(continuation)
    }

    var isAnswered: Bool { caller.isAnswered }

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
        caller.answer(result ?? .failure(StoreFault.unavailable("the transaction did not run")))
        result = nil
    }

    @discardableResult func fail(_ fault: StoreFault) -> Bool { caller.answer(.failure(fault)) }
}

/// One row for a ``SharedStatement``, without a savepoint: what its first statement lets pass cannot be refused by the others, so that only a
/// fault of the disk ends it halfway, and then the whole batch. Lives on the writer's queue between `run` and the answer.
private final class Share: WaitingTransaction, @unchecked Sendable {
    let until: ContinuousClock.Instant
    private let row: [SQLValue]
    private let statement: SharedStatement
    private let caller: WaitingCaller<SQLRow?>
    private var answer: SQLRow?

    init(
        row: [SQLValue], statement: SharedStatement, continuation: CheckedContinuation<SQLRow?, any Error>,
        until: ContinuousClock.Instant
    ) {
        self.row = row
        self.statement = statement
        self.until = until
        caller = WaitingCaller(continuation)
    }

    var isAnswered: Bool { caller.isAnswered }

    func run(in session: SQLiteSession) throws {
        answer = try session.run(statement, for: row)
    }

    func succeed() { caller.answer(.success(answer)) }

    @discardableResult func fail(_ fault: StoreFault) -> Bool { caller.answer(.failure(fault)) }
}
