// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import Formats
import Foundation
import HTTPService
import HTTPTypes
import NIOConcurrencyHelpers
import Testing
import TrustStores
import Vocabulary

@testable import TrustService

/// Which refusals are in the history of a key.
@Suite struct RefusalHistoryTests {
    private static func refusals(_ keyId: String, _ service: RunningService) async throws -> Int {
        let id = try #require(KeyIdentifier(strictBase64: keyId))
        return try await service.store.history(of: id, limit: 100).count { $0.kind == "refused" }
    }

    /// Names that somebody makes up take no place from keys that there are.
    @Test func unknownKeysKeepNoRefusalOutOfAHistory() async throws {
        let box = NIOLockedValueBox<ServiceParts?>(nil)
        try await RunningService.with(
            interfaces: { parts in
                box.withLockedValue { $0 = parts }
                return []
            }
        ) { service in
            let parts = try #require(box.withLockedValue { $0 })
            let app = try #require(parts.apps["shop"])
            let call = Call(
                operation: "verifyAssertion", parameters: ["app": "shop"], query: "", headers: HTTPFields(), body: [],
                address: "192.0.2.1", correlationId: "t", caller: Authority.anyone, now: service.clock.now)
            for number in 0..<4300 {
                let name = (0..<32).map { UInt8(truncatingIfNeeded: number >> ($0 % 2 * 8)) }
                let id = try #require(KeyIdentifier(strictBase64: Base64.encode(name)))
                await #expect(throws: Problem.self) {
                    _ = try await parts.modes.judged(app, call, keyId: id) { .failure(ProofRefusal(.keyUnknown)) }
                }
            }
            let (phone, keyId) = try await Phone.attested(service)
            let body = try await phone.assertion(keyId)
            #expect(try await phone.assert(body).status == 200)
            // The limit of one key: the first five, and the rest is counted.
            for _ in 0..<12 { #expect(try await phone.assert(body).status == 409) }
            #expect(try await Self.refusals(keyId, service) == 5)
            let metrics = String(decoding: try await service.get("/metrics").body, as: UTF8.self)
            #expect(metrics.contains(#"sealward_refusals_unwritten_total{reason="limit"} 7"#))
        }
        box.withLockedValue { $0 = nil }
    }
}
