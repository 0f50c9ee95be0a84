// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import DeviceSimulator
import Foundation
import Testing
import Vocabulary

@Test func `DeviceSimulator: a phone, its rules and a named fault`() async throws {
    // walkthrough: DeviceSimulator phone
    var random = SimulatorRandom(seed: 1)  // The same seed makes the same phone.
    let authority = try SimulatedAuthority(random: &random)
    let phone = SimulatedDevice(system: .iOS("27.0"), random: random, service: authority)
    let app = SimulatedApp("ABCDE12345.com.example.shop", distribution: .testFlight)
    await phone.install(app)

    let keyId = try await phone.generateKey(for: app)
    let hash = ClientDataHash(hashing: Array("challenge".utf8)).bytes
    let attestation = try await phone.attestKey(keyId, clientDataHash: hash, for: app, at: Date())
    await phone.reinstall(app)  // The key is lost, as on a real device.
    // end
    #expect(attestation.count > 4_000)
    await #expect(throws: SimulatedServiceError.invalidKey) {
        _ = try await phone.generateAssertion(keyId, clientDataHash: hash, for: app)
    }
    let again = try await phone.generateKey(for: app)
    #expect(again != keyId)
    guard let publicKey = await phone.publicKey(of: again), let name = KeyIdentifier(base64: again) else {
        throw CancellationError()
    }

    // walkthrough: DeviceSimulator fault
    let request = SimulatedAttestationRequest(
        publicKey: publicKey, app: app, system: .iOS("27.0"), clientDataHash: hash)
    let forged = try authority.attest(request, at: Date(), fault: .wrongNonce)
    // AttestationFault.wrongNonce.expectedCode is the refusal of a correct verifier.
    // end
    let verifier = AttestationVerifier(
        apps: [try AppIdentity("ABCDE12345.com.example.shop")], environments: [.production],
        roots: try AttestationRoots(pem: authority.attestationRootPEM), receiptRoots: nil)
    let verdict = await verifier.verify(
        forged.object, keyId: name, clientDataHash: try ClientDataHash(precomputed: hash), at: Date())
    guard case .refused(let refusal) = verdict else { throw CancellationError() }
    #expect(refusal.code.rawValue == AttestationFault.wrongNonce.expectedCode)
}
