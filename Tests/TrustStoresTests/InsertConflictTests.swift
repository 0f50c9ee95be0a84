// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import Foundation
import Testing
import TrustStoreContract
import Vocabulary

@testable import TrustStores

@Suite struct InsertConflictTests {
    /// A database in which another node's key stops an insertion, and is deleted before the next look.
    private struct VanishingKey: SQLEngine {
        struct Session: SQLSession {
            func run(_ text: SQLText, _ arguments: [SQLValue]) throws -> SQLResult {
                ([], text.sqlite.hasPrefix("INSERT INTO attested_keys") ? 0 : 1)
            }
        }

        let systemName = "test"

        func transact<Outcome: Sendable>(
            _ body: @escaping @Sendable (any SQLSession) throws -> SQLEnd<Outcome>
        ) async throws -> Outcome {
            switch try body(Session()) {
            case .commit(let outcome), .rollback(let outcome): outcome
            }
        }

        func read<Outcome: Sendable>(
            _ body: @escaping @Sendable (any SQLSession) throws -> Outcome
        ) async throws -> Outcome { try body(Session()) }

        func look<Outcome: Sendable>(
            _ body: @escaping @Sendable (any SQLSession) throws -> Outcome
        ) async throws -> Outcome { try body(Session()) }

        func key(_ id: KeyIdentifier) async throws -> StoredKey? { nil }

        func accept(_ advance: CounterAdvance, at instant: Date) async throws -> AdvanceOutcome? { nil }

        func close() async {}
    }

    @Test("a key that was not stored is never reported as inserted")
    func vanishedKey() async throws {
        let store = SQLTrustStore(engine: VanishingKey(), schema: [Migration].sqlite.newest)
        await #expect(throws: StoreFault.unavailable("")) {
            try await store.insert(Sample.registration(), spending: Sample.challenge(), at: Sample.now)
        }
    }
}
