// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

/// PostgreSQL servers for these tests.
enum PostgresStores {
    static let areAvailable = false

    static func fixture() async throws -> StoreFixture { throw CancellationError() }
}
