// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import CSQLite

/// The stores of this package, each made by one call: `inMemory`, `sqlite` and `postgres`
/// (module `TrustStoresPostgres`).
public enum Store {
    /// A store that is lost with the process, for tests and trials: SQLite without a file.
    ///
    /// - Parameter clock: replaced in tests.
    public static func inMemory(clock: StoreClock = .system) -> any TrustStore {
        SQLTrustStore(engine: SQLiteEngine(inMemory: .sqlite), schema: [Migration].sqlite.newest, clock: clock)
    }

    /// Opens or creates a store in one SQLite file; the migrations that it needs run first.
    ///
    /// The file is in WAL mode with `synchronous=FULL`, which is read back before the store is used: what was answered survives
    /// `kill -9` and power loss. Nothing but the file (and its `-wal` and `-shm` files) is needed.
    ///
    /// The file is made with mode 0600, because it contains keys; one that everybody may read is closed to them.
    ///
    /// - Parameter observe: is told what an operator should know, for example that others may read the file. Called on any thread.
    /// - Throws: ``StoreFault``: `store.unavailable` if the file cannot be opened, `store.configuration` if the path is a folder or a
    ///   device or lies where everybody may replace it, `store.newer` if a later program wrote it, `store.damaged` if it is no store.
    public static func sqlite(
        at path: String, observe: @escaping @Sendable (StoreObservation) -> Void = { _ in }
    ) throws -> any TrustStore {
        try SQLTrustStore.sqlite(at: path, observe: observe)
    }
}

/// What a program decides about SQLite for its whole process.
package enum SQLiteLibrary {
    /// Lets SQLite use memory without counting it under a lock that all connections share: nobody here asks how much it is.
    ///
    /// Has an effect only before a process first uses SQLite. A library does not do this to the program that it is part of.
    package static func configure() { _ = sqlite3_config_without_memory_statistics() }
}

extension SQLTrustStore {
    /// The same; the clock is the caller's in tests.
    package static func sqlite(
        at path: String, clock: StoreClock = .system, observe: @escaping @Sendable (StoreObservation) -> Void = { _ in }
    ) throws -> SQLTrustStore {
        do {
            try SQLiteFile.prepare(path, observe: observe)
            let engine = try SQLiteEngine(path: path, migrations: .sqlite, observe: observe)
            return SQLTrustStore(engine: engine, schema: [Migration].sqlite.newest, clock: clock)
        } catch {
            throw StoreFault(sqlite: error, path: path)
        }
    }
}

extension StoreFault {
    /// What an error of the database means to a caller.
    init(sqlite error: any Error, path: String? = nil) {
        if let fault = error as? StoreFault {
            self = fault
            return
        }
        let place = path.map { "\($0): " } ?? ""
        guard let error = error as? SQLiteFailure else {
            self = .unavailable("\(place)\(error)")
            return
        }
        let reason = "\(place)SQLite says \(error.message) (\(error.code))"
        self = error.isDamage ? .damaged(reason) : .unavailable(reason)
    }
}
