// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import TrustStores

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
            let version = try await engine.look { session -> Int64? in
                func value(_ text: SQLText) throws -> Int64? {
                    try session.run([SQLStatement(text, arguments: [])]).first?.rows.first?.optionalInteger(0)
                }
                guard try value("SELECT (to_regclass('schema_versions') IS NOT NULL)::int::bigint") == 1 else {
                    return nil
                }
                return try value("SELECT max(version) FROM schema_versions")
            }
            await engine.close()
            return version.flatMap { Int(exactly: $0) }
        } catch {
            await engine.close()
            throw error
        }
    }
}
