// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import Crypto
import DeviceSimulator
import Foundation
import TrustStores

/// One simulated Apple, one app, and devices whose keys are in a store: genuine material for benches.
package struct Material: Sendable {
    package static let appId = "shop"
    package static let teamId = "TEAM123456"
    package static let bundleId = "com.example.shop"

    /// One attested key and the device that holds it.
    package struct Holder: Sendable {
        package let keyId: KeyIdentifier
        let device: SimulatedDevice
    }

    package let authority: SimulatedAuthority
    package let codec: ChallengeCodec
    package let now: Date
    private let app = SimulatedApp("\(teamId).\(bundleId)")

    package init(store: SQLTrustStore, at now: Date) async throws {
        var seed = SimulatorRandom(seed: UInt64.random(in: 0...UInt64.max))
        authority = try SimulatedAuthority(random: &seed)
        codec = try await ChallengeCodec(store: store, candidate: Material.random(32), at: now)
        self.now = now
    }

    static func random(_ count: Int) -> [UInt8] { (0..<count).map { _ in UInt8.random(in: 0...255) } }

    /// Attests so many keys of simulated devices, verifies them, and stores them: a store takes nothing else.
    package func holders(_ count: Int, in store: SQLTrustStore) async throws -> [Holder] {
        let verifier = AttestationVerifier(
            apps: [try AppIdentity(app.applicationId)],
            environments: [.production],
            roots: try AttestationRoots(pem: authority.attestationRootPEM),
            receiptRoots: try ReceiptRoots(pem: authority.receiptRootPEM)
        )
        var holders: [Holder] = []
        for _ in 0..<count {
            let binding = ChallengeBinding(purpose: .attest, app: Material.appId)
            let challenge = codec.issue(for: binding, expiresAt: now + 300, random: Material.random(16))
            let hash = ClientDataHash(hashing: challenge)
            let device = SimulatedDevice(system: .iOS("26.1"), service: authority)
            await device.install(app)
            let name = try await device.generateKey(for: app)
            let object = try await device.attestKey(name, clientDataHash: hash.bytes, for: app, at: now)
            guard let id = KeyIdentifier(base64: name),
                case .accepted(let key) = await verifier.verify(object, keyId: id, clientDataHash: hash, at: now),
                let registration = KeyRegistration(
                    key,
                    app: Material.appId,
                    // Simulated, and without the fingerprint of the roots, as older versions wrote keys.
                    simulatedRoots: [],
                    user: nil,
                    attestation: object,
                    refreshAt: nil
                ),
                case .valid(let spendable) = codec.read(challenge, for: binding, at: now),
                case .inserted = try await store.insert(registration, spending: spendable, at: now)
            else { throw BenchFault("a simulated key was not accepted") }
            holders.append(Holder(keyId: id, device: device))
        }
        return holders
    }

    /// A fresh challenge for one key, as the codec would read it from a request.
    package func challenge(for keyId: KeyIdentifier) throws -> SpendableChallenge {
        let binding = ChallengeBinding(purpose: .assert, app: Material.appId, keyId: keyId)
        let bytes = codec.issue(for: binding, expiresAt: now + 300, random: Material.random(16))
        guard case .valid(let challenge) = codec.read(bytes, for: binding, at: now) else {
            throw BenchFault("a fresh challenge is not valid")
        }
        return challenge
    }

    /// The body of a request with the holder's next assertion over client data that holds a fresh challenge.
    ///
    /// - Parameter number: The challenge expires so many milliseconds later: as if it had been issued shortly before its use,
    ///   and not all of them at one instant.
    package func assertionBody(_ holder: Holder, number: Int) async throws -> String {
        let binding = ChallengeBinding(purpose: .assert, app: Material.appId)
        let challenge = codec.issue(
            for: binding,
            expiresAt: now + 86_400 + Double(number) / 1000,
            random: Material.random(16)
        )
        let clientData = Data(#"{"challenge":"\#(Data(challenge).base64EncodedString())","action":"pay"}"#.utf8)
        let assertion = try await holder.device.generateAssertion(
            holder.keyId.base64,
            clientDataHash: Array(SHA256.hash(data: clientData)),
            for: app
        )
        return
            #"{"keyId":"\#(holder.keyId.base64)","assertion":"\#(Data(assertion).base64EncodedString())","clientData":"\#(clientData.base64EncodedString())"}"#
    }
}

/// What ends a bench before it measured anything.
package struct BenchFault: Error, CustomStringConvertible {
    package let description: String

    package init(_ description: String) { self.description = description }
}
