// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import DeviceSimulator
import Foundation
import Testing
import Vocabulary

@Test func `AppAttest: an attestation, then an assertion`() async throws {
    var random = SimulatorRandom(seed: 7)
    let authority = try SimulatedAuthority(random: &random)
    let phone = SimulatedDevice(system: .iOS("26.0"), random: random, service: authority)
    let sender = SimulatedApp("ABCDE12345.com.example.shop")
    await phone.install(sender)
    let challenge = Array("a challenge of the server".utf8)
    let now = Date()
    let keyText = try await phone.generateKey(for: sender)
    let attestation = try await phone.attestKey(
        keyText, clientDataHash: ClientDataHash(hashing: challenge).bytes, for: sender, at: now)

    // walkthrough: AppAttest attest
    let app = try AppIdentity("ABCDE12345.com.example.shop")
    let verifier = AttestationVerifier(
        apps: [app],
        environments: [.production],
        roots: try AttestationRoots(pem: authority.attestationRootPEM),  // .apple for real devices
        receiptRoots: try ReceiptRoots(pem: authority.receiptRootPEM)
    )
    guard let keyId = KeyIdentifier(base64: keyText) else { return }
    let verdict = await verifier.verify(
        attestation, keyId: keyId, clientDataHash: ClientDataHash(hashing: challenge), at: now)
    let key: AttestedKey
    switch verdict {
    case .accepted(let accepted): key = accepted
    case .refused(let refusal): return print(refusal.step ?? 0, refusal.code, refusal.reason)
    }
    // Store key.publicKey with the counter 0.
    // end
    #expect(key.app == app && key.environment == .production && key.keyId == keyId)
    if case .accepted(let receipt)? = key.receiptVerdict { #expect(receipt.type == .attest) } else { Issue.record() }

    let request = Array(#"{"transfer": 10}"#.utf8)
    let assertion = try await phone.generateAssertion(
        keyText, clientDataHash: ClientDataHash(hashing: request).bytes, for: sender)
    // walkthrough: AppAttest assert
    let assertions = AssertionVerifier(app: key.app)
    let answer = assertions.verify(
        assertion, publicKey: key.publicKey, clientDataHash: ClientDataHash(hashing: request), previousCounter: 0)
    if case .accepted(let verified) = answer {
        print(verified.counter)  // Commit it only where it is still higher than the stored one.
    }
    // end
    guard case .accepted(let verified) = answer else { throw CancellationError() }
    #expect(verified.counter == 1)
    guard
        case .refused(let replay) = assertions.verify(
            assertion, publicKey: key.publicKey, clientDataHash: ClientDataHash(hashing: request),
            previousCounter: verified.counter)
    else { throw CancellationError() }
    #expect(replay.code == "assert.counter.replayed")
}
