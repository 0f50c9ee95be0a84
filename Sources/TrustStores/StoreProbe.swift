// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Vocabulary

/// Checks a store at most once in an interval, however many ask: all who ask in between get the same answer.
///
/// A check commits a write, so anybody who may ask for readiness could keep the writer busy otherwise.
package struct StoreProbe: Sendable {
    private let answer: SharedAnswer<StoreReading>

    /// Checks `store` at most once in `interval`, measured by the monotonic `clock`.
    package init(_ store: any TrustStore, interval: Duration = .seconds(1), clock: StoreClock = .system) {
        answer = SharedAnswer(interval: interval, uptime: clock.uptime) { try await store.check() }
    }

    /// What the store said in the last interval, or says now.
    ///
    /// - Throws: the ``StoreFault`` of that check, to everybody who shares it.
    package func check() async throws -> StoreReading { try await answer.value() }
}
