// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import StoreSupport
import TrustStores

/// A store that asks the test before each verb and tells it what was committed; what the test throws, the verb throws.
typealias FaultyStore = WrappedTrustStore<StoreFaults>

/// What a test does around the verbs of a store.
struct StoreFaults: StoreVerbWrapper {
    /// Runs before each verb, with its name.
    let before: @Sendable (String) async throws -> Void
    /// Runs after each verb that did not throw.
    let after: @Sendable (String) -> Void

    func run<Result: Sendable>(
        _ verb: String, _ body: @escaping @Sendable () async throws -> Result
    ) async throws -> Result {
        try await before(verb)
        let result = try await body()
        after(verb)
        return result
    }
}

extension WrappedTrustStore<StoreFaults> {
    init(
        _ base: any TrustStore = Store.inMemory(), after: @escaping @Sendable (String) -> Void = { _ in },
        before: @escaping @Sendable (String) async throws -> Void
    ) {
        self.init(base, in: StoreFaults(before: before, after: after))
    }
}
