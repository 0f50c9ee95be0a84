// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import CLibpq
import TrustStores

extension PostgresConnection {
    /// Brings the database to the newest schema. Nodes that start together wait for each other.
    func migrate(_ migrations: [Migration]) throws {
        // A migration has the limit of the work that it is, not that of a statement; waiting for another node's has an end.
        try execute(
            """
            BEGIN; SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = '60s';
            SELECT pg_advisory_xact_lock(\(Self.lockNumber), hashtext(current_schema()::text));
            """
        )
        do {
            try execute("CREATE TABLE IF NOT EXISTS schema_versions (version BIGINT PRIMARY KEY NOT NULL)")
            let version = try row("SELECT max(version) FROM schema_versions")?.optionalInteger(0)
            let pending = try migrations.pending(after: Int(clamping: version ?? 0))
            for migration in pending {
                facts.observe(.migrating, migration.name)
                try execute(migration.sql)
                try execute("INSERT INTO schema_versions (version) VALUES (\(migration.version))")
            }
            try execute("COMMIT")
            if let last = pending.last { facts.observe(.migrated, last.name) }
        } catch let broken as BrokenConnection {
            throw broken
        } catch {
            try? execute("ROLLBACK")
            throw error
        }
    }

    /// The number of the schema that the database has; nil if it has none.
    func schema() throws -> Int? {
        let isThere = try row("SELECT (to_regclass('schema_versions') IS NOT NULL)::int::bigint")
        guard try isThere?.integer(0) == 1 else { return nil }
        let version = try row("SELECT max(version) FROM schema_versions")?.optionalInteger(0)
        return version.flatMap { Int(exactly: $0) }
    }

    /// The advisory lock under which migrations run; an arbitrary number of ours, beside the schema's name.
    private static let lockNumber = 732_580_184
}
