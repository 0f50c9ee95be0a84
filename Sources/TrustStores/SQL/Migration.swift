// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

/// One step from one schema to the next; steps only go forward, and a released one is never edited.
///
/// Each is a file `Migrations/NNNN-title.sql`, which the build puts into the program, so that it runs from anywhere.
package struct Migration: Sendable {
    /// Counts from 1.
    package let version: Int
    /// The name of the file without its ending.
    package let name: String
    package let sql: String

    package init(version: Int, name: String, sql: String) {
        self.version = version
        self.name = name
        self.sql = sql
    }
}

extension [Migration] {
    /// The steps of every store, oldest first, with their SQL for one kind of database: the contents of the files in the order of their numbers.
    package init(_ files: [UInt8]...) {
        let names = ["0001-first", "0002-operators", "0003-quotas", "0004-terms"]
        self = zip(zip(1..., names), files).map { step, file in
            Migration(version: step.0, name: step.1, sql: String(decoding: file, as: UTF8.self))
        }
    }

    /// The schema after all steps.
    package var newest: Int { map(\.version).max() ?? 0 }

    /// The steps that a store at `version` still needs.
    ///
    /// - Throws: `store.newer` if the store was written by a later program.
    package func pending(after version: Int) throws -> [Migration] {
        guard version <= newest else {
            throw StoreFault(
                code: .storeNewer,
                reason: "the store has schema \(version), this program supports up to \(newest); use a newer program")
        }
        return filter { $0.version > version }.sorted { $0.version < $1.version }
    }
}
