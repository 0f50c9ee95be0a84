// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Testing
import TrustStoreContract

/// The store of the simulation keeps the promises that it is taken for.
@Suite("Store contract of the simulation's store") struct MemoryContractTests {
    @Test(arguments: StoreContract.cases)
    func promise(_ promise: StoreContract.Case) async throws {
        try await promise.run {
            let clock = FixtureClock()
            let store = InMemoryTrustStore(clock: clock.storeClock(hasServer: false))
            return StoreFixture(store: store, clock: clock, another: { store }, reopened: nil)
        }
    }
}
