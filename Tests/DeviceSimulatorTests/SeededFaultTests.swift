// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Crypto
import Foundation
import Testing

@testable import DeviceSimulator

/// The same seed gives the same keys, with a fault as without one.
@Suite struct SeededFaultTests {
    private let now = Date(timeIntervalSince1970: 1_795_262_400)
    private let app = SimulatedApp("ABCDE12345.com.example.app")

    private func authority(seed: UInt64) throws -> SimulatedAuthority {
        var random = SimulatorRandom(seed: seed)
        return try SimulatedAuthority(random: &random)
    }

    /// Every key that occurs in an attestation with this fault, and what else is chosen in it.
    private func choices(_ fault: AttestationFault, seed: UInt64) throws -> [[UInt8]] {
        var random = SimulatorRandom(seed: 3)
        let request = SimulatedAttestationRequest(
            publicKey: SimulatorKey.p256(random.p256()).point, app: app, system: .iOS("27.0"),
            clientDataHash: [UInt8](repeating: 7, count: 32))
        let authority = try authority(seed: seed)
        var seen: [[UInt8]] = []
        _ = try authority.attest(request, at: now) { recipe in
            try fault.row.change(&recipe)
            seen = [recipe.leaf.keyInfo, recipe.leafSigner.point, recipe.coseKey, recipe.leaf.issuer]
        }
        return seen
    }

    @Test(arguments: AttestationFault.allCases)
    func attestations(_ fault: AttestationFault) throws {
        #expect(try choices(fault, seed: 5) == choices(fault, seed: 5))
    }

    /// What is drawn depends on the seed: it is no constant.
    @Test(arguments: [AttestationFault.largerLeafKey, .foreignChain, .leafAsIssuer, .otherPublicKey])
    func anotherSeedGivesOtherKeys(_ fault: AttestationFault) throws {
        #expect(try choices(fault, seed: 5) != choices(fault, seed: 6))
    }

    @Test func aForeignReceiptRoot() throws {
        let points = try (0..<2).map { _ in
            let authority = try authority(seed: 5)
            var recipe = ReceiptRecipe(
                content: SimulatedReceipt(
                    type: .attest, applicationId: app.applicationId, certificate: [1], clientHash: [2], token: "token",
                    isProduction: true, creation: now, expiration: now), authority: authority)
            try ReceiptFault.foreignRoot.row.change(&recipe)
            #expect(recipe.authority.receiptRoot.key.point != authority.receiptRoot.key.point)
            return [recipe.authority.receiptRoot, recipe.authority.receiptCA, recipe.signer].map(\.key.point)
        }
        #expect(points[0] == points[1])
    }

    @Test func anAssertionByAnotherKey() throws {
        let key = try P256.Signing.PrivateKey(rawRepresentation: [UInt8](repeating: 9, count: 32))
        let other = SimulatedAssertion.otherKey(than: key)
        #expect(other.rawRepresentation == SimulatedAssertion.otherKey(than: key).rawRepresentation)
        #expect(other.rawRepresentation != key.rawRepresentation)
    }
}
