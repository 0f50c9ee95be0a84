// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import Crypto
import DeviceSimulator
import Foundation
import Testing

/// A simulated Apple, a key, an app and a moment: everything that a verifier needs, the same in every run.
struct Stage: Sendable {
    let authority: SimulatedAuthority
    let key: P256.Signing.PrivateKey
    let app: SimulatedApp
    let system: SimulatedSystem
    let clientData = Array("a challenge from the server".utf8)
    /// 2026-11-21T12:00:00Z.
    let instant = Date(timeIntervalSince1970: 1_795_262_400)

    static let sharedAuthority = Result {
        var random = SimulatorRandom(seed: 4)
        return try SimulatedAuthority(random: &random)
    }

    init(
        _ system: SimulatedSystem = .iOS("27.0"),
        app: SimulatedApp = SimulatedApp("ABCDE12345.com.example.app", bundleVersion: "42")
    ) throws {
        authority = try Stage.sharedAuthority.get()
        key = try P256.Signing.PrivateKey(rawRepresentation: [UInt8](repeating: 9, count: 32))
        self.system = system
        self.app = app
    }

    var publicKey: [UInt8] { Array(key.publicKey.x963Representation) }
    var hash: ClientDataHash { ClientDataHash(hashing: clientData) }
    var identity: AppIdentity { get throws { try AppIdentity(app.applicationId) } }
    var attestationKey: AttestationPublicKey {
        get throws { try AttestationPublicKey(x963Representation: publicKey) }
    }
    var environment: AttestationEnvironment { app.isProduction ? .production : .development }

    var request: SimulatedAttestationRequest {
        SimulatedAttestationRequest(publicKey: publicKey, app: app, system: system, clientDataHash: hash.bytes)
    }

    func verifier(
        _ policy: AttestationPolicy = AttestationPolicy(), app: String? = nil,
        environments: Set<AttestationEnvironment>? = nil, rootPEM: String? = nil
    ) throws -> AttestationVerifier {
        AttestationVerifier(
            apps: [try AppIdentity(app ?? self.app.applicationId)], environments: environments ?? [environment],
            roots: try AttestationRoots(pem: rootPEM ?? authority.attestationRootPEM),
            receiptRoots: try ReceiptRoots(pem: authority.receiptRootPEM), policy: policy)
    }

    func verdict(
        _ object: [UInt8]? = nil, _ policy: AttestationPolicy = AttestationPolicy(),
        by verifier: AttestationVerifier? = nil, hash: ClientDataHash? = nil, at moment: Date? = nil
    ) async throws -> AttestationVerdict {
        try await (verifier ?? self.verifier(policy)).verify(
            object ?? self.object(), keyId: try attestationKey.keyId, clientDataHash: hash ?? self.hash,
            at: moment ?? instant)
    }

    /// The verdict on an attestation whose recipe was changed.
    func verdict(changing adjust: (inout AttestationRecipe) throws -> Void) async throws -> AttestationVerdict {
        try await verdict(try authority.attest(request, at: instant, changing: adjust).object)
    }

    func object(fault: AttestationFault? = nil) throws -> [UInt8] {
        try authority.attest(request, at: instant, fault: fault).object
    }

    /// An assertion with the counter 7, to be changed before it is signed.
    var assertion: SimulatedAssertion {
        SimulatedAssertion(app: app, system: system, counter: 7, clientDataHash: hash.bytes)
    }

    func assertion(counter: UInt32, fault: AssertionFault? = nil) throws -> [UInt8] {
        try SimulatedAssertion.make(
            key: key, app: app, system: system, counter: counter, clientDataHash: hash.bytes, fault: fault)
    }

    func assertionVerdict(_ object: [UInt8], previous: UInt32) throws -> AssertionVerdict {
        AssertionVerifier(app: try identity).verify(
            object, publicKey: try attestationKey, clientDataHash: hash, previousCounter: previous)
    }

    /// A receipt of the key, given in exchange.
    func refreshedReceipt(metric: Int = 3, fault: ReceiptFault? = nil) throws -> [UInt8] {
        let attestation = try authority.attest(request, at: instant)
        return try authority.refreshedReceipt(
            app: app, publicKey: publicKey, leafCertificate: attestation.leafCertificate, clientDataHash: hash.bytes,
            riskMetric: metric, at: instant, fault: fault)
    }

    var expectations: ReceiptExpectations {
        get throws {
            ReceiptExpectations(
                app: try identity, publicKey: try attestationKey, environment: environment, maximumAge: 300)
        }
    }

    func receiptVerdict(_ receipt: [UInt8]) async throws -> ReceiptVerdict {
        await ReceiptVerifier(roots: try ReceiptRoots(pem: authority.receiptRootPEM))
            .verify(receipt, try expectations, at: instant)
    }
}
