// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import TrustStores

/// The steps of the schema: the files of `Migrations/`, which the build puts into the program, so that it runs from anywhere.
enum PostgresMigrations {
    /// Every step, oldest first.
    static let all = [
        Migration(
            version: 1,
            name: "0001-first",
            sql: String(decoding: PackageResources._001_first_sql, as: UTF8.self)
        ),
        Migration(
            version: 2,
            name: "0002-operators",
            sql: String(decoding: PackageResources._002_operators_sql, as: UTF8.self)
        ),
        Migration(
            version: 3,
            name: "0003-quotas",
            sql: String(decoding: PackageResources._003_quotas_sql, as: UTF8.self)
        ),
    ]
}
