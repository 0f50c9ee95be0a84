// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Testing
import TrustStoreContract
import TrustStores

// walkthrough: TrustStoreContract run
@Test(arguments: StoreContract.cases)
func `TrustStoreContract: a store keeps its promises`(_ promise: StoreContract.Case) async throws {
    try await promise.run {
        let clock = FixtureClock()
        // Your own store, and behind it a second node on the same data.
        let store = Store.inMemory(clock: clock.storeClock())
        return StoreFixture(store: store, clock: clock) { store }
    }
}
// end
