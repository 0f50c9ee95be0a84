// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

#if Postgres
    public import TrustStores

    extension SQLTrustStore {
        /// Opens the store in a PostgreSQL database, for any number of nodes; the migrations that it needs run first.
        ///
        /// The server commits synchronously (`synchronous_commit=on` is asked for on every connection), so what was answered survives
        /// a crash of any node and of the server.
        ///
        /// - Parameter url: a libpq connection string, for example `postgres://user@host:5432/sealward`. A password belongs into
        ///   `PGPASSWORD`, a password file or a service file.
        /// - Throws: ``StoreFault``: `store.unavailable` where the server does not answer, `store.newer` where a later program wrote
        ///   the schema.
        public static func postgres(
            _ url: String,
            configuration: PostgresConfiguration = PostgresConfiguration()
        ) async throws -> SQLTrustStore {
            let engine = PostgresEngine(url: url, configuration: configuration)
            do {
                try await engine.migrate(PostgresMigrations.all)
            } catch {
                await engine.close()
                throw error
            }
            return SQLTrustStore(engine: engine)
        }
    }

    /// How the store uses its PostgreSQL.
    public struct PostgresConfiguration: Sendable {
        /// How many connections write. Commits on different connections share one flush of the server's disk.
        public var writers = 8
        /// How many connections read; each sends many questions before it waits for answers.
        public var readers = 2
        /// The server ends a statement, and a wait for a lock, after this time.
        public var statementTimeout: Duration = .seconds(5)
        /// A server that says nothing for this long is given up, and asked again on a new connection.
        public var answerTimeout: Duration = .seconds(10)
        /// How long a connection may take.
        public var connectTimeout: Duration = .seconds(5)
        /// After a connection failed, callers are refused at once for this long instead of waiting for another failure.
        public var pauseAfterFailure: Duration = .milliseconds(200)
        /// How many callers may wait; more are refused at once, so that memory stays bounded while the server is down.
        public var waitingLimit = 10_000

        /// The defaults, as each property states them.
        public init() {}
    }
#endif
