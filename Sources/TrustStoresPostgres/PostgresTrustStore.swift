// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

public import TrustStores

extension Store {
    /// Opens the store in a PostgreSQL database, for any number of nodes; the migrations that it needs run first.
    ///
    /// The server commits synchronously (`synchronous_commit=on` is asked for on every connection), so what was answered survives
    /// a crash of any node and of the server.
    ///
    /// - Parameter url: a libpq connection string, for example `postgres://user@host:5432/sealward`. A password belongs in
    ///   `PGPASSWORD`, a password file or a service file.
    ///   Several hosts may be named; the first that is a primary is used.
    /// - Throws: ``StoreFault``: `store.unavailable` if no primary answers, `store.configuration` if the string cannot be read,
    ///   `store.newer` if a later program wrote the schema.
    public static func postgres(
        _ url: String, configuration: PostgresConfiguration = PostgresConfiguration()
    ) async throws -> any TrustStore {
        try await SQLTrustStore.postgres(url, configuration: configuration)
    }
}

extension SQLTrustStore {
    /// The same as a store whose verbs are written in SQL.
    ///
    /// - Parameter isExisting: opens it for an operator: never another program's database, which would get our tables, nor an older schema.
    package static func postgres(
        _ url: String, configuration: PostgresConfiguration = PostgresConfiguration(), isExisting: Bool = false
    ) async throws -> SQLTrustStore {
        let engine = try PostgresEngine(url: url, configuration: configuration)
        do {
            if isExisting { try [Migration].postgres.requireNonePending(after: await engine.schema()) }
            try await engine.migrate(.postgres)
        } catch {
            await engine.close()
            throw error
        }
        return SQLTrustStore(engine: engine, schema: [Migration].postgres.newest, clock: configuration.clock)
    }
}

/// A connection string, looked at without connecting.
package enum PostgresURL {
    /// - Throws: `store.configuration` with a sentence that quotes nothing of the string, because a password may be in it.
    package static func check(_ text: String) throws { _ = try PostgresAddress(text) }
}

/// How the store uses its PostgreSQL.
public struct PostgresConfiguration: Sendable {
    /// How many connections write, at least 2. Two of them, or one of fewer than 4, only accept assertions of many callers together.
    /// Commits on different connections share one flush of the server's disk.
    public var writers = 8
    /// How many connections read rows by their keys, at least 1. One more does long reads, such as those of operators, one after another.
    public var readers = 2
    /// The server ends a statement, and a wait for a lock, after this time.
    public var statementTimeout: Duration = .seconds(5)
    /// How long one request may take, from its first statement to the answer of its COMMIT, a new connection included. A server that
    /// has not answered by then is asked again on a new connection, of which there is a bound.
    public var answerTimeout: Duration = .seconds(10)
    /// How long a connection to one address may take, login and first statement included, unless the URL has a `connect_timeout`.
    public var connectTimeout: Duration = .seconds(5)
    /// How long a caller may wait for a connection that is free.
    public var queueTimeout: Duration = .seconds(5)
    /// How long the migrations at the start may take together.
    public var migrationTimeout: Duration = .seconds(3600)
    /// How long closing the store waits for what was begun.
    public var closeTimeout: Duration = .seconds(3)
    /// After a connection could not be opened, callers are refused at once for this long instead of waiting for another failure.
    public var pauseAfterFailure: Duration = .milliseconds(200)
    /// Is told what an operator should know: notices of the server, overdue answers, refused servers. Called on any thread.
    public var observe: @Sendable (StoreObservation) -> Void = { _ in }
    /// How many callers may wait; more are refused at once, so that memory stays bounded while the server is down.
    public var waitingLimit = 10_000

    /// Stands in for the machine's and the server's clocks in tests.
    package var clock = StoreClock.system

    /// The deadlines and limits of a store that is opened without options.
    public init() {}
}

extension SQLTrustStore {
    /// The number of the schema that a PostgreSQL database has, before a program brings it to its own; nil if there is none.
    ///
    /// - Parameter limit: how long the server may take.
    /// - Throws: ``StoreFault``: `store.unavailable` if no primary answers.
    package static func schema(ofPostgresAt url: String, within limit: Duration) async throws -> Int? {
        var configuration = PostgresConfiguration()
        (configuration.writers, configuration.readers) = (1, 1)
        (configuration.connectTimeout, configuration.answerTimeout) = (limit, limit)
        (configuration.queueTimeout, configuration.closeTimeout) = (limit, .seconds(1))
        let engine = try PostgresEngine(url: url, configuration: configuration)
        do {
            let version = try await engine.schema()
            await engine.close()
            return version
        } catch {
            await engine.close()
            throw error
        }
    }
}
