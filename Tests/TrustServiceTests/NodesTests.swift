// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import DeviceSimulator
import Formats
import Foundation
import TestSupport
import Testing
import TrustStores
import TrustStoresPostgres
import Vocabulary

@testable import TrustService

/// One node, and two on one store, keep every promise.
@Suite(.serialized) struct NodesTests {
    @Test func oneNodeOnSQLiteKeepsEveryPromise() async throws {
        try await RunningService.with(store: StoreFile().open()) { node in
            try await keepsEveryPromise(node, node)
        }
    }

    @Test(.enabled(if: PostgresServer.isAvailable, "needs Debian's package postgresql"))
    func twoNodesOnOnePostgreSQLKeepEveryPromise() async throws {
        let url = try await PostgresServer.sharedWithEmptyStore().url
        let (first, second) = (try await SQLTrustStore.postgres(url), try await SQLTrustStore.postgres(url))
        try await RunningService.with(store: first) { left in
            try await RunningService.with(store: second, clock: left.clock) { right in
                try await keepsEveryPromise(left, right)
            }
        }
    }

    private func keepsEveryPromise(_ left: RunningService, _ right: RunningService) async throws {
        let phone = await Phone(left)
        let (keyId, body) = try await phone.attestation()
        // Issued on one node, used on the other.
        #expect(try await right.post("/v1/apps/shop/attestations", body).status == 201)
        #expect(try await left.post("/v1/apps/shop/attestations", body).status == 200)
        let nodes = [left, right]
        // One attestation fifty times at once: one is first, and nobody is told that the challenge is used.
        for round in 0..<6 {
            let (_, body) = try await phone.attestation(user: round % 2 == 0 ? nil : "anna")
            let answers = try await allAtOnce(50) { index in
                try await nodes[index % 2].post("/v1/apps/shop/attestations", body).verdict
            }.tally
            #expect(answers == ["201": 1, "200": 49], "round \(round): \(answers)")
        }
        for round in 0..<3 {
            let assertion = try await phone.assertion(keyId)
            let verdicts = try await allAtOnce(100) { index in
                try await nodes[index % 2].post("/v1/apps/shop/assertions", assertion).verdict
            }.tally
            #expect(verdicts["200"] == 1, "round \(round): \(verdicts)")
            #expect(verdicts.keys.allSatisfy { $0 == "200" || $0.hasPrefix("409 ") }, "\(verdicts)")
        }
        let token = JSONValue.string(try await phone.token(keyId, singleUse: true))
        let spent = try await allAtOnce(50) { index in
            try await nodes[index % 2].post(
                "/v1/tokens/consume", ["token": token, "simulated": "allow"], token: RunningService.serverToken
            ).status
        }
        #expect(spent.tally == [200: 1, 409: 49])
        // Both publish the same keys, and simulated devices have keys of their own.
        let keys = try await left.get("/.well-known/jwks.json").body
        let simulated = try await left.get("/simulator/.well-known/jwks.json").body
        #expect(try await right.get("/.well-known/jwks.json").body == keys)
        #expect(try await right.get("/simulator/.well-known/jwks.json").body == simulated)
        #expect(keys != simulated)
    }
}
