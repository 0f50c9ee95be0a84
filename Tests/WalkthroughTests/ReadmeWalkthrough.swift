// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import Foundation
import Testing
import Vocabulary

/// README.md shows one attestation verified: the one of Apple's guide, under Apple's own roots.
@Test func `README: an attestation of a real iPhone`() async throws {
    struct Vector: Decodable {
        let attestation: String
    }
    let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "Vectors/appattest/apple-guide-2026-ios27.json")
    let vector = try JSONDecoder().decode(Vector.self, from: Data(contentsOf: file))
    let attestation = try #require(Data(base64Encoded: vector.attestation))
    let keyId = try #require(KeyIdentifier(base64: "zgSY9YSD+7TaDXssY6WlOPVS1K3Lmk+pFhlcSWE+ZV0="))
    let hash = try ClientDataHash(precomputed: Array("example_server_challenge".utf8))
    let now = try Date("2026-04-21T18:13:12Z", strategy: .iso8601)
    var saved: [AttestationPublicKey] = []
    func save(_ key: AttestedKey) { saved.append(key.publicKey) }

    // walkthrough: README
    let app = try AppIdentity("1234567890.com.example.myapp")
    let verifier = AttestationVerifier(apps: [app], environments: [.production], roots: .apple, receiptRoots: .apple)
    switch await verifier.verify(attestation, keyId: keyId, clientDataHash: hash, at: now) {
    case .accepted(let key): save(key)
    case .refused(let refusal): print(refusal.code, refusal.reason)  // for example attest.nonce.mismatch
    }
    // end
    #expect(saved.count == 1)
    guard
        case .refused(let refusal) = await verifier.verify(
            attestation, keyId: keyId, clientDataHash: ClientDataHash(hashing: []), at: now)
    else {
        Issue.record("another challenge was accepted")
        return
    }
    #expect(refusal.code == "attest.nonce.mismatch")
}
