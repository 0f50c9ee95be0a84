// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Testing
import TrustStores
import TrustStoresPostgres

@Test func `TrustStoresPostgres: a database that does not answer is a fault with advice`() async throws {
    // walkthrough: TrustStoresPostgres open
    var configuration = PostgresConfiguration()
    configuration.connectTimeout = .seconds(2)
    do {
        let store = try await Store.postgres("postgres://sealward@127.0.0.1:1/trust", configuration: configuration)
        try await store.check()
        await store.close()
    } catch let fault as StoreFault {
        print(fault.code, fault.reason, fault.retryAfter ?? .zero)
    }
    // end
    await #expect(throws: StoreFault.self) {
        _ = try await Store.postgres("postgres://sealward@127.0.0.1:1/trust", configuration: configuration)
    }
}
