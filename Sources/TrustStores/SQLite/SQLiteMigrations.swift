// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

/// The steps of the schema: the files of `Migrations/`, which the build puts into the program, so that it runs from anywhere.
enum SQLiteMigrations {
    /// Every step, oldest first.
    static let all = [Migration](
        PackageResources._001_first_sql, PackageResources._002_operators_sql, PackageResources._003_quotas_sql,
        PackageResources._004_terms_sql)
}
