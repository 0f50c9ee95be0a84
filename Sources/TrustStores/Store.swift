// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

/// The stores of this package, each made by one call: `inMemory`, `sqlite` and `postgres`
/// (module `TrustStoresPostgres`).
public enum Store {
    /// A store that is lost with the process, for tests and trials: SQLite without a file.
    ///
    /// - Parameter clock: replaced in tests.
    public static func inMemory(clock: StoreClock = .system) -> any TrustStore {
        SQLTrustStore(engine: SQLiteEngine(inMemory: .sqlite), schema: [Migration].sqlite.newest, clock: clock)
    }
}
