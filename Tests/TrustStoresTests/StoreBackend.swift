// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import TrustStoreContract

@testable import TrustStores

/// One backend under contract.
struct StoreBackend: Sendable, CustomTestStringConvertible {
    let testDescription: String
    /// Makes an empty store.
    let make: @Sendable () async throws -> StoreFixture

    static let memory = StoreBackend(testDescription: "memory") {
        let clock = FixtureClock()
        let store = Store.inMemory(clock: clock.storeClock(hasServer: false))
        return StoreFixture(store: store, clock: clock, another: { store }, reopened: nil)
    }

    static let sqlite = StoreBackend(testDescription: "SQLite") {
        let path = TemporaryDirectory.shared.path("\(UUID().uuidString).sqlite")
        let fixed = FixtureClock()
        let clock = fixed.storeClock(hasServer: false)
        return StoreFixture(
            store: try SQLTrustStore.sqlite(at: path, clock: clock), clock: fixed,
            another: { try SQLTrustStore.sqlite(at: path, clock: clock) },
            reopened: { try SQLTrustStore.sqlite(at: path, clock: clock) })
    }

    static let postgres = StoreBackend(testDescription: "PostgreSQL") {
        try await PostgresStores.fixture()
    }

    static var all: [StoreBackend] { [memory, sqlite] + (PostgresServer.isAvailable ? [postgres] : []) }

    /// The backends that keep what they were given.
    static var persistent: [StoreBackend] { all.filter { $0.testDescription != "memory" } }
}

/// What every backend promises, for each of them.
@Suite("Store contract") struct StoreContractTests {
    @Test(arguments: StoreBackend.all, StoreContract.cases)
    func promise(_ backend: StoreBackend, _ promise: StoreContract.Case) async throws {
        try await promise.run(backend.make)
    }

    /// The contract finds a store that breaks it: here two nodes that do not share what they are given.
    @Test(arguments: StoreContract.cases.filter { $0.description.hasPrefix("of many who spend one challenge") })
    func aBrokenStoreIsFound(_ promise: StoreContract.Case) async throws {
        let violation = await #expect(throws: ContractViolation.self) {
            try await promise.run {
                let clock = FixtureClock()
                return StoreFixture(store: Store.inMemory(), clock: clock) { Store.inMemory() }
            }
        }
        #expect(violation?.description.hasPrefix(promise.description) == true)
        #expect(violation?.description.contains("is 2 and must be 1") == true)
    }
}
