// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import TrustStores

/// A pooler between the store and its server may keep one session of the server for each connection, as the store needs it: prepared
/// statements and settings belong to a session. A pooler that gives each transaction any session would run other statements than those
/// that were meant, and commit with other settings. So the start looks for it, and no transaction begins in a strange session.
extension PostgresConnection {
    /// What is said about a pooler that does not keep sessions apart.
    static let sharedSessions =
        "the pooler gives each transaction another session of PostgreSQL; let it pool sessions (PgBouncer: pool_mode = session), or connect without it"

    /// Refuses a pooler that lets connections share sessions, as far as a second connection shows it.
    ///
    /// - Throws: `store.configuration` for such a pooler.
    func refuseSharedSessions() throws {
        guard let pooledProcess else { return }
        for _ in 0..<PostgresConnection.looks {
            let other: PostgresConnection
            do {
                other = try PostgresConnection(host, hostaddr: hostaddr, facts: facts)
            } catch is BrokenConnection {
                // A pool that has no room for a second connection does not show how it pools.
                return
            }
            if other.pooledProcess == pooledProcess { throw StoreFault.configuration(Self.sharedSessions) }
            // While the other one is in a transaction, a shared session of this one may be taken.
            try other.execute("BEGIN; SELECT 1")
            do {
                try transaction { _ in .rollback(()) }
            } catch let broken as BrokenConnection where broken.reason == Self.sharedSessions {
                throw StoreFault.configuration(Self.sharedSessions)
            }
        }
    }

    /// How often the start looks. One look shows it if the pool is quiet.
    private static let looks = 3

    /// Refuses the transaction that has just begun if it is in the session of another connection.
    func checkSession() throws {
        guard let pooledProcess else { return }
        guard let process = try script("SELECT pg_backend_pid()").first,
            process.flatMap({ Int32($0) }) == pooledProcess
        else { throw BrokenConnection(reason: Self.sharedSessions) }
    }
}
