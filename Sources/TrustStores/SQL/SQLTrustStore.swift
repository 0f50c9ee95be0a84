// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Synchronization
import Vocabulary

/// A store in an SQL database. The verbs are written once; SQLite and PostgreSQL differ in how a transaction is run.
///
/// ``Store/sqlite`` and the module `TrustStoresPostgres` open one.
package struct SQLTrustStore: TrustStore {
    package let engine: any SQLEngine
    /// The number of the schema that this program writes.
    let schema: Int
    let clock: StoreClock
    let witness: WitnessBox
    /// What stands around every question to the database; nil for nothing.
    package var wrapper: (any StoreVerbWrapper)?

    /// Takes a database that has been brought to `schema`.
    package init(engine: any SQLEngine, schema: Int, clock: StoreClock = .system) {
        self.engine = engine
        self.schema = schema
        self.clock = clock
        witness = WitnessBox(opened: clock.uptime())
    }

    package func close() async { await engine.close() }

    package func replaceSecret(named name: String, by secret: [UInt8]) async throws -> Bool {
        try await transact { session in
            let locked: SQLText = "SELECT value FROM store_secrets WHERE name = $1 {lock}"
            guard let old = try session.row(locked, .text(name))?.bytes(0) else { return .rollback(false) }
            let text: SQLText = "UPDATE store_secrets SET value = $2 WHERE name = $1"
            try session.run(text, .text(name), .bytes(secret))
            if name.hasSameBytes(as: AuditChain.secretName) { try session.sealAudit(secret, instead: old) }
            return .commit(true)
        }
    }

    package func secretsMark() async throws -> [UInt8] {
        try await look { session in
            let rows = try session.run("SELECT name, value FROM store_secrets").rows
            return try StoreSecrets.mark(rows.map { (try $0.text(0), try $0.bytes(1)) })
        }
    }

    package func secret(named name: String, orElse candidate: [UInt8]) async throws -> [UInt8] {
        try await transact { session in
            let text: SQLText = "INSERT INTO store_secrets (name, value) VALUES ($1, $2) ON CONFLICT DO NOTHING"
            let isNew = try session.run(text, .text(name), .bytes(candidate)).changes == 1
            if isNew, name.hasSameBytes(as: AuditChain.secretName) { try session.sealAudit(candidate, instead: nil) }
            guard let secret = try session.secret(named: name) else { throw StoreFault.damaged("a secret vanished") }
            return .commit(secret)
        }
    }
}

extension SQLSession {
    /// A secret of the store; nil if it has none of this name, as before the first service uses it.
    func secret(named name: String) throws -> [UInt8]? {
        try row("SELECT value FROM store_secrets WHERE name = $1", .text(name))?.bytes(0)
    }
}

/// What this open store has seen of the clock, shared by all copies of the store.
final class WitnessBox: Sendable {
    private let state: Mutex<ClockWitness>

    init(opened: Duration) { state = Mutex(ClockWitness(opened: opened)) }

    func withWitness<Outcome>(_ body: (inout ClockWitness) -> sending Outcome) -> sending Outcome {
        state.withLock { body(&$0) }
    }
}
